import Glibc
import Synchronization
import Testing

@testable import Fuse

/// The end of sessions, and failures at their start.
struct SessionEndTests {
    @Test func runReturnsWhenTheKernelHangsUp() throws {
        let kernel = try KernelSide(TestFilesystem(), threads: 3)
        kernel.hangUp()
        let end = kernel.waitForEnd()
        #expect(end.ended)
        #expect(end.error == nil)
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
        let kernel = try KernelSide(TestFilesystem(), options: .test("nosuid", "max_read=65536"), threads: 4)
        #expect(kernel.initReply.error == 0)
        // An unmount ends the threads that are blocked in a read, and may be repeated.
        try kernel.session.unmount()
        let end = kernel.waitForEnd()
        #expect(end.ended && end.error == nil)
        try kernel.session.unmount()
    }

    @Test func aProtocolMismatchIsAnError() throws {
        // libfuse parses this option as 65536. `MountOptions` does not accept it as a number, so the init callback
        // leaves the default, and the two values differ.
        let kernel = try KernelSide(TestFilesystem(), options: .test("max_read=65536x"))
        #expect(kernel.initReply.error == -EPROTO)
        let end = kernel.waitForEnd()
        #expect(end.ended)
        #expect(end.error?.contains("common version of the FUSE protocol") == true)
    }

    @Test func anUnknownOptionAndAMissingMountPointAreNamed() throws {
        let error = #expect(throws: SessionError.self) {
            _ = try Session(operations: TestFilesystem(), options: .test("no_such_option"))
        }
        #expect(error?.description.contains("no_such_option") == true)
        let session = try Session(operations: TestFilesystem(), options: .test())
        let missing = #expect(throws: SessionError.self) { try session.mount(at: "/nowhere/at all") }
        #expect(missing?.description.contains("/nowhere/at all: No such file or directory") == true)
    }
}
