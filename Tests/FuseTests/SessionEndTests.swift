import Fuse
import Glibc
import Synchronization
import Testing

/// The end of sessions, and failures at their start.
struct SessionEndTests {
    @Test func runReturnsWhenTheKernelHangsUp() throws {
        let filesystem = TestFilesystem()
        let kernel = try KernelSide(filesystem, threads: 3)
        kernel.hangUp()
        let end = kernel.waitForEnd()
        #expect(end.ended)
        #expect(end.error == nil)
        #expect(filesystem.calls.withLock { $0 } == ["destroy"])
    }

    @Test func unmountEndsThreadsThatAreBlockedInRead() throws {
        let filesystem = TestFilesystem()
        let kernel = try KernelSide(filesystem, threads: 4)
        try kernel.session.unmount()
        #expect(kernel.waitForEnd().ended)
        try kernel.session.unmount()
        #expect(filesystem.calls.withLock { $0 } == ["destroy"])
    }

    @Test func anAnswerAfterTheEndDoesNoHarm() throws {
        let parked = Counter()
        let filesystem = TestFilesystem(whenParked: { _ in parked.add() })
        let request: UInt64
        do {
            let kernel = try KernelSide(filesystem)
            request = kernel.send(.read, node: 2, readRequest(handle: 77, offset: 0, size: 100))
            #expect(parked.wait())
            kernel.hangUp()
            #expect(kernel.waitForEnd().ended)
        }
        filesystem.answer(request, [1, 2, 3])
        #expect(filesystem.parked.withLock { $0.isEmpty })
    }

    @Test func aMountOptionForTheSizeOfReadsIsNegotiated() throws {
        // libfuse compares the mount option with the value that the init callback has set, and fails if they differ.
        let options = SessionOptions(fsname: "test", subtype: "test", extra: ["nosuid,max_read=65536"])
        let kernel = try KernelSide(TestFilesystem(), options: options)
        #expect(kernel.initReply.error == 0)
        try kernel.session.unmount()
        #expect(kernel.waitForEnd().error == nil)
    }

    @Test func aProtocolMismatchIsAnError() throws {
        // libfuse parses this option as 65536. `SessionOptions` does not accept it as a number, so the init callback
        // leaves the default, and the two values differ.
        let options = SessionOptions(fsname: "test", subtype: "test", extra: ["max_read=65536x"])
        let kernel = try KernelSide(TestFilesystem(), options: options)
        #expect(kernel.initReply.error == -EPROTO)
        let end = kernel.waitForEnd()
        #expect(end.ended)
        #expect(end.error?.contains("common version of the FUSE protocol") == true)
    }

    @Test func anUnknownOptionIsNamed() {
        let options = SessionOptions(fsname: "test", subtype: "test", extra: ["no_such_option"])
        let error = #expect(throws: SessionError.self) {
            _ = try Session(operations: TestFilesystem(), options: options)
        }
        #expect(error?.code == .options)
        #expect(error?.message.contains("no_such_option") == true)
    }

    @Test func aMissingMountPointIsNamed() throws {
        let session = try Session(operations: TestFilesystem(), options: .test)
        let error = #expect(throws: SessionError.self) { try session.mount(at: "/nowhere/at all") }
        #expect(error?.code == .mount)
        #expect(error?.message.contains("/nowhere/at all: No such file or directory") == true)
    }
}
