import Foundation
import Glibc
import TestSupport
import Testing

/// Archived episodes in a real mount, and an archive whose disk is taken away, brought back, or dead.
@Suite(.enabled(if: TemporaryFilesystem.isPossible), .timeLimit(.minutes(10))) struct ArchiveMountTests {
    /// A mounted show, with the archive on a disk that can be taken away: a bind mount of `disk`.
    private final class Archive {
        let folder: String
        let disk: String
        let show: MountedShow

        init() async throws {
            let directory = try TemporaryDirectory()
            self.directory = directory
            folder = try directory.makeDirectory("archive")
            disk = try directory.makeDirectory("disk")
            try await Self.run("mount", "--bind", disk, folder)
            show = try await MountedShow(configuration: "[archive]\nfolder = \"\(folder)\"\n")
        }

        private let directory: TemporaryDirectory

        deinit { while umount2(folder, Int32(MNT_DETACH)) == 0 {} }

        private static func run(_ program: String, _ arguments: String...) async throws {
            try await ChildProcess.run(program, arguments).succeeded()
        }

        func archive() async throws {
            try await show.home.run("download", MountedShow.show, "--wait").succeeded()
            try await show.home.run("set", MountedShow.show, "archive=true")
            for number in 1...3 { try await show.waitForState("archived", of: show.path(number)) }
        }

        func takeAway() async throws { try await Self.run("umount", "-l", folder) }

        func bringBack() async throws { try await Self.run("mount", "--bind", disk, folder) }

        /// Mounts a filesystem that answers no request over the archive, as a file server that has died.
        func kill() async throws -> ChildProcess {
            let program = try ChildProcess("python3", ["-c", Self.deadFilesystem, folder])
            try await waitUntil(description: "the dead filesystem is mounted") {
                let table = try String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)
                return table.contains(" \(self.folder) ") && table.contains(" - fuse.dead ")
            }
            return program
        }

        /// Answers only INIT, which the kernel sends first: without it even an unmount would have to wait.
        private static let deadFilesystem = """
            import ctypes, os, struct, sys, time
            device = os.open('/dev/fuse', os.O_RDWR)
            options = f'fd={device},rootmode=40000,user_id=0,group_id=0,allow_other'.encode()
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.mount(b'dead', sys.argv[1].encode(), b'fuse.dead', 0, options) != 0:
                sys.exit(os.strerror(ctypes.get_errno()))
            request = os.read(device, 1 << 20)
            unique = struct.unpack_from('<IIQ', request)[2]
            body = struct.pack('<IIIIHHIIHH8I', 7, 31, 0, 0, 12, 9, 65536, 1, 0, 0, *[0] * 8)
            os.write(device, struct.pack('<IiQ', 16 + len(body), 0, unique) + body)
            time.sleep(3600)
            """
    }

    @Test func anArchivedEpisodeIsReadFromTheArchive() async throws {
        let archive = try await Archive()
        try await archive.archive()
        let show = archive.show
        show.server.stop()
        let read = try await show.read(show.path(2))
        #expect(MountedShow.content(2).matches(read.standardOutput))
        #expect(try await show.attribute("sha256", of: show.path(2))?.count == 64)
        #expect(try await show.attribute("progress", of: show.path(2)) == "100.0")
        try await show.home.run("evict", show.path(2)).failed(says: "it is in the archive")
        let verified = try await show.home.run("doctor", "--verify")
        #expect(verified.output.contains("archived: 3 archived episodes verified"))
    }

    @Test func anArchiveMayGoAndReturnWhileItIsMounted() async throws {
        let archive = try await Archive()
        try await archive.archive()
        let show = archive.show
        try await archive.takeAway()
        try await show.waitForState("offline", of: show.path(1))
        let reason = "has no file .podfs-archive"
        #expect(try await show.attribute("error", of: show.path(1))?.contains(reason) == true)
        #expect(try await show.read("\(show.mount.mountPoint)/.status").output.contains("archive: "))
        #expect(try await show.home.run("doctor").output.contains(reason))
        let requests = show.requests(1).count
        let read = try await show.read(show.path(1))
        #expect(MountedShow.content(1).matches(read.standardOutput))
        #expect(show.requests(1).count == requests + 1)
        try await show.waitForState("cached", of: show.path(1))
        try await archive.bringBack()
        for number in 1...3 { try await show.waitForState("archived", of: show.path(number)) }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: archive.folder + "/Example Show").filter {
                $0.hasSuffix(".mp3")
            }.count == 3)
        show.server.stop()
        #expect(MountedShow.content(1).matches(try await show.read(show.path(1)).standardOutput))
    }

    @Test func aDeadFileServerDelaysOneOpenAndNothingElse() async throws {
        let archive = try await Archive()
        try await archive.archive()
        let show = archive.show
        let dead = try await archive.kill()
        let listed = try await ChildProcess.run("ls", ["-l", "\(show.mount.mountPoint)/\(MountedShow.show)"])
        #expect(listed.output.contains("Episode 3"))
        let read = try await show.read(show.path(3))
        #expect(MountedShow.content(3).matches(read.standardOutput))
        #expect(try await show.attribute("error", of: show.path(2))?.contains("does not respond") == true)
        #expect(try await show.home.run("status").output.contains("does not respond"))
        // Detaching the mount and ending its process fail the calls that hang in it.
        umount2(archive.folder, Int32(MNT_DETACH))
        dead.kill()
        for number in 1...3 { try await show.waitForState("archived", of: show.path(number)) }
    }
}
