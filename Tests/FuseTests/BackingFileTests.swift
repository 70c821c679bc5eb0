import Glibc
import SystemPackage
import Testing

@testable import Fuse

/// Passthrough: its negotiation with the kernel, and how files are registered as backing files. The kernel's own reads
/// need a real mount, and are not tested here.
struct BackingFileTests {
    private static let extension2: UInt32 = 1 << 30  // FUSE_INIT_EXT
    private static let passthrough: UInt32 = 1 << 5  // FUSE_PASSTHROUGH, of the second word

    @Test func passthroughIsRequestedIfOfferedToAnAdministrator() throws {
        let kernel = try KernelSide(
            TestFilesystem(), backingFolder: "/", flags: KernelSide.allFlags | Self.extension2,
            moreFlags: Self.passthrough)
        let isAsked = Privilege.isAdministrator
        let initReply = kernel.initReply
        #expect(initReply.payload.count == 64)
        #expect((initReply.number(UInt32.self, at: 12) & Self.extension2 != 0) == isAsked)
        #expect(initReply.number(UInt32.self, at: 32) == (isAsked ? Self.passthrough : 0))
        // max_stack_depth: a folder on overlayfs needs two.
        let depth = initReply.number(UInt32.self, at: 36)
        #expect(isAsked ? [1, 2].contains(depth) : depth == 0)
        #expect(initReply.number(UInt32.self, at: 12) & 1 << 18 != 0)  // FUSE_PARALLEL_DIROPS is still granted.
        // podfs changes only the reply to INIT: a later reply arrives as libfuse has written it.
        let answer = try kernel.call(.lookup, node: 1, text("a"))
        #expect(answer.number(UInt64.self, at: 0) == 2)
    }

    @Test(
        arguments: [
            // In this order: the second word does not offer passthrough; there is no second word; no folder is given.
            (KernelSide.allFlags | extension2, 0, "/"), (KernelSide.allFlags, passthrough, "/"),
            (KernelSide.allFlags | extension2, passthrough, nil),
        ] as [(UInt32, UInt32, String?)])
    func passthroughIsNotRequestedWithoutAnOfferAndAFolder(flags: UInt32, moreFlags: UInt32, folder: String?) throws {
        let kernel = try KernelSide(TestFilesystem(), backingFolder: folder, flags: flags, moreFlags: moreFlags)
        #expect(kernel.initReply.error == 0)
        #expect(kernel.initReply.number(UInt32.self, at: 32) & Self.passthrough == 0)
        #expect(kernel.initReply.number(UInt32.self, at: 36) == 0)
        #expect(kernel.session.backingFiles.register(FileDescriptor(rawValue: 0)) == nil)
    }

    @Test func anOpenIsAnsweredWithTheIdentifierOfItsBackingFile() throws {
        let kernel = try KernelSide(TestFilesystem())
        let answer = try kernel.call(.open, node: 4, bytes(UInt32(O_RDONLY), UInt32(0)))
        #expect(answer.payload.count == 16)
        #expect(answer.number(UInt64.self, at: 0) == 78)
        // FOPEN_PASSTHROUGH and FOPEN_NOFLUSH. The kernel does not allow FOPEN_KEEP_CACHE with FOPEN_PASSTHROUGH.
        #expect(answer.number(UInt32.self, at: 8) == 1 << 7 | 1 << 5)
        #expect(answer.number(Int32.self, at: 12) == 9)
        let direct = try kernel.call(.open, node: 4, bytes(UInt32(O_RDONLY | __O_DIRECT), UInt32(0)))
        #expect(direct.number(UInt32.self, at: 8) == 1 << 7 | 1 << 5 | 1)
    }

    @Test func aDeviceThatRejectsBackingFilesIsTriedOnce() throws {
        let kernel = try KernelSide(
            TestFilesystem(), backingFolder: "/", flags: KernelSide.allFlags | Self.extension2,
            moreFlags: Self.passthrough)
        let file = try FileDescriptor.open("/proc/self/exe", .readOnly, options: [.closeOnExec])
        defer { try? file.close() }
        let backings = kernel.session.backingFiles
        #expect(backings.areAccepted == Privilege.isAdministrator)
        // In this test a socket replaces /dev/fuse. It does not support the ioctl FUSE_DEV_IOC_BACKING_OPEN.
        #expect(backings.register(file) == nil)
        #expect(!backings.areAccepted)
        #expect(backings.register(file) == nil)
    }
}
