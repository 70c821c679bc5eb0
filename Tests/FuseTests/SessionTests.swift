import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Fuse

/// A session with a kernel simulated by the test.
struct SessionTests {
    // Bits of INIT's flags in linux/fuse.h.
    private static let asyncRead: UInt32 = 1 << 0
    private static let splice: UInt32 = 7 << 7
    private static let autoInvalidate: UInt32 = 1 << 12
    private static let readdirplus: UInt32 = 3 << 13
    private static let writeback: UInt32 = 1 << 16
    private static let parallelDirectories: UInt32 = 1 << 18
    private static let explicitInvalidate: UInt32 = 1 << 25

    @Test func initNegotiatesTheCapabilitiesOfAReadOnlyFilesystem() throws {
        let kernel = try KernelSide(TestFilesystem())
        let flags = kernel.initReply.number(UInt32.self, at: 12)
        #expect(flags & Self.asyncRead != 0)
        // FUSE_DO_READDIRPLUS without FUSE_READDIRPLUS_AUTO.
        #expect(flags & Self.readdirplus == 1 << 13)
        #expect(flags & Self.parallelDirectories != 0)
        #expect(flags & Self.explicitInvalidate != 0)
        #expect(flags & (Self.autoInvalidate | Self.writeback | Self.splice) == 0)
        #expect(kernel.initReply.number(UInt16.self, at: 16) == 4_096)
    }

    @Test func unofferedCapabilitiesAreNotRequested() throws {
        let kernel = try KernelSide(TestFilesystem(), flags: Self.asyncRead)
        let flags = kernel.initReply.number(UInt32.self, at: 12)
        #expect(kernel.initReply.error == 0)
        #expect(flags & (Self.readdirplus | Self.explicitInvalidate) == 0)
    }

    @Test func lookupReturnsAnEntry() throws {
        let filesystem = TestFilesystem()
        let kernel = try KernelSide(filesystem)
        let answer = try kernel.call(.lookup, node: 1, text("a"))
        #expect(answer.error == 0)
        #expect(answer.number(UInt64.self, at: 0) == 2)  // nodeid
        #expect(answer.number(UInt64.self, at: 16) == 60)  // entry_valid
        #expect(answer.number(UInt64.self, at: 24) == 1)  // attr_valid
        #expect(answer.number(UInt32.self, at: 36) == 500_000_000)  // attr_valid_nsec
        #expect(answer.number(UInt64.self, at: 40) == 102)  // attr.ino
        #expect(answer.number(UInt64.self, at: 48) == 1_000)  // size
        #expect(answer.number(UInt64.self, at: 56) == 3)  // blocks
        #expect(answer.number(UInt64.self, at: 64) == 5)  // atime
        #expect(answer.number(Int64.self, at: 72) == -7)  // mtime
        #expect(answer.number(UInt32.self, at: 100) == 0o100444)  // mode
        #expect(answer.number(UInt32.self, at: 108) == 1)  // uid
        #expect(filesystem.calls.withLock { $0 } == ["lookup 1 a by 1000:1001 4321"])
    }

    @Test func aMissingNameIsANegativeEntry() throws {
        let kernel = try KernelSide(TestFilesystem())
        let answer = try kernel.call(.lookup, node: 1, text("nothing"))
        #expect(answer.error == 0)
        #expect(answer.number(UInt64.self, at: 0) == 0)
        #expect(answer.number(UInt64.self, at: 16) == 2)
        #expect(try kernel.call(.lookup, node: 1, text("error")).error == -EACCES)
        // A request that is dropped without an answer.
        #expect(try kernel.call(.lookup, node: 1, text("dropped")).error == -EIO)
    }

    @Test func aNameThatIsNotUTF8IsNotFound() throws {
        let filesystem = TestFilesystem()
        let kernel = try KernelSide(filesystem)
        #expect(try kernel.call(.lookup, node: 1, [0xff, 0xfe, 0]).error == -ENOENT)
        #expect(try kernel.call(.getxattr, node: 2, bytes(UInt32(10), UInt32(0)) + [0xff, 0]).error == -ENODATA)
        #expect(filesystem.calls.withLock { $0 }.isEmpty)
    }

    @Test func getattrReceivesTheHandle() throws {
        let filesystem = TestFilesystem()
        let kernel = try KernelSide(filesystem)
        let plain = try kernel.call(.getattr, node: 2, bytes(UInt32(0), UInt32(0), UInt64(0)))
        #expect(plain.number(UInt64.self, at: 0) == 0)
        #expect(plain.number(UInt32.self, at: 8) == 250_000_000)
        #expect(plain.number(UInt64.self, at: 16 + 8) == 1_000)
        _ = try kernel.call(.getattr, node: 2, bytes(UInt32(1), UInt32(0), UInt64(77)))
        #expect(filesystem.calls.withLock { $0 } == ["getattr 2 -", "getattr 2 77"])
    }

    @Test func openReturnsTheHandleAndItsMode() throws {
        let kernel = try KernelSide(TestFilesystem())
        let cached = try kernel.call(.open, node: 2, bytes(UInt32(O_RDONLY), UInt32(0)))
        #expect(cached.number(UInt64.self, at: 0) == 77)
        #expect(cached.number(UInt32.self, at: 8) == 2)  // FOPEN_KEEP_CACHE
        let direct = try kernel.call(.open, node: 3, bytes(UInt32(O_RDONLY), UInt32(0)))
        #expect(direct.number(UInt32.self, at: 8) == 3)  // with FOPEN_DIRECT_IO
    }

    @Test(arguments: [O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC])
    func openForWritingIsRefusedByTheBinding(flags: Int32) throws {
        let filesystem = TestFilesystem()
        let kernel = try KernelSide(filesystem)
        #expect(try kernel.call(.open, node: 2, bytes(UInt32(flags), UInt32(0))).error == -EROFS)
        #expect(filesystem.calls.withLock { $0 }.isEmpty)
    }

    @Test(
        arguments: [
            .mknod, .mkdir, .unlink, .rmdir, .symlink, .rename, .rename2, .link, .create, .write, .fallocate,
            .copyFileRange, .setattr, .removexattr,
        ] as [KernelSide.Opcode])
    func modifyingRequestsAreRefused(opcode: KernelSide.Opcode) throws {
        let kernel = try KernelSide(TestFilesystem())
        // The zeros are longer than the fixed part of any request; names follow.
        let payload = [UInt8](repeating: 0, count: 128) + text("from") + text("to")
        #expect(try kernel.call(opcode, node: 1, payload).error == -EROFS)
    }

    @Test func setxattrReachesTheFilesystem() throws {
        let filesystem = TestFilesystem()
        let kernel = try KernelSide(filesystem)
        let answer = try kernel.call(
            .setxattr, node: 2, bytes(UInt32(6), UInt32(1)) + text("user.task") + Array("resume".utf8))
        #expect(answer.error == 0)
        #expect(filesystem.calls.withLock { $0 } == ["setxattr 2 user.task resume 1"])
    }

    @Test func getxattrReturnsTheSizeOrTheValue() throws {
        let kernel = try KernelSide(TestFilesystem())
        func get(_ capacity: UInt32, _ name: String = "user.a") throws -> KernelSide.Message {
            try kernel.call(.getxattr, node: 2, bytes(capacity, UInt32(0)) + text(name))
        }
        #expect(try get(0).number(UInt32.self, at: 0) == 5)
        #expect(try get(5).payload == Array("value".utf8))
        #expect(try get(4).error == -ERANGE)
        #expect(try get(5, "user.b").error == -ENODATA)
    }

    @Test func releaseAndForgetReachTheFilesystem() throws {
        let filesystem = TestFilesystem()
        let kernel = try KernelSide(filesystem, threads: 1)
        kernel.send(.forget, node: 2, bytes(UInt64(4)))
        kernel.send(.batchForget, node: 0, bytes(UInt32(2), UInt32(0), UInt64(5), UInt64(1), UInt64(6), UInt64(2)))
        #expect(try kernel.call(.release, node: 2, bytes(UInt64(77), UInt32(0), UInt32(0), UInt64(0))).error == 0)
        #expect(filesystem.calls.withLock { $0 } == ["forget 2 4", "forget 5 1", "forget 6 2", "release 77"])
    }

    @Test func linksAndStatisticsAreAnswered() throws {
        let kernel = try KernelSide(TestFilesystem())
        #expect(try kernel.call(.readlink, node: 4).payload == Array("../target".utf8))
        let statistics = try kernel.call(.statfs, node: 1)
        #expect((0..<5).map { statistics.number(UInt64.self, at: $0 * 8) } == [10, 6, 6, 0, 0])
        #expect(statistics.number(UInt32.self, at: 40) == 512)
        #expect(statistics.number(UInt32.self, at: 44) == 255)
        // After ENOSYS the kernel treats the whole file as data, and sends no further request for a flush.
        #expect(try kernel.call(.lseek, node: 2, bytes(UInt64(77), UInt64(10), UInt32(3), UInt32(0))).error == -ENOSYS)
        #expect(try kernel.call(.flush, node: 2, bytes(UInt64(0), UInt64(0), UInt64(0))).error == -ENOSYS)
    }

    @Test func readdirplusContinuesWhereTheBufferWasFull() throws {
        let kernel = try KernelSide(TestFilesystem())
        var listed: [ListedEntry] = []
        var pages = 0
        while true {
            let offset = listed.last?.nextOffset ?? 0
            let answer = try kernel.call(.readdirplus, node: 1, readRequest(handle: 0, offset: offset, size: 600))
            #expect(answer.error == 0)
            #expect(answer.payload.count <= 600)
            let page = answer.payload.withUnsafeBytes { ListedEntry.decode($0, withAttributes: true) }
            if page.isEmpty { break }
            listed += page
            pages += 1
        }
        // An entry has 160 bytes: 128 of `fuse_entry_out`, 24 of `fuse_dirent`, 8 for the padded name. Three
        // fit into 600.
        #expect(pages == 4)
        #expect(listed.map(\.nextOffset) == Array(1...10))
        #expect(listed.map(\.name) == (0..<10).map { $0 == 4 ? "hidden" : "name \($0)" })
        #expect(listed[4].node == NodeID(rawValue: 0))
        #expect(listed[4].inode == 104)
        #expect(listed[5].node == NodeID(rawValue: 15))
        #expect(listed[5].size == 1_000)
        // readdir gets the same names without nodes.
        let answer = try kernel.call(.readdir, node: 1, readRequest(handle: 0, offset: 8, size: 4_096))
        let page = answer.payload.withUnsafeBytes { ListedEntry.decode($0, withAttributes: false) }
        #expect(page.map(\.name) == ["name 8", "name 9"] && page.map(\.inode) == [118, 119])
        #expect(page.map(\.nextOffset) == [9, 10] && page.allSatisfy { $0.node == nil && $0.size == nil })
    }
}
