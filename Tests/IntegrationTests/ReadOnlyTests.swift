import Foundation
import Glibc
import TestSupport
import Testing

/// The errno of every modifying call on every kind of file. No such call may change anything.
@Suite(.timeLimit(.minutes(5)), .enabled(if: SystemCallProbe.isPossible, "python3 is not installed"))
struct ReadOnlyTests {
    /// A line of the table in podfs-semantics(7), with the calls that test it.
    struct Rule: Sendable {
        let line: String
        let answer: String
        let calls: [SystemCallProbe.Call]

        init(_ line: String, _ answer: String, _ calls: (String, on: [String])...) {
            self.line = line
            self.answer = answer
            self.calls = calls.map { SystemCallProbe.Call($0.0, on: $0.on) }
        }
    }

    // `remote` has never been opened, the size of `known` is confirmed, `cached` is complete.
    private static let episodes = ["known", "cached"]
    private static let made = ["made", "status"]
    private static let openable = episodes + made
    private static let files = ["remote"] + openable
    private static let folders = ["root", "show", "latest", "notes"]
    private static let links = ["link"]
    private static let all = files + folders

    static let refusals: [Rule] = [
        Rule(
            "open for writing, or with O_TRUNC", "EROFS",
            ("opened(p, os.O_WRONLY)", on: files + links), ("opened(p, os.O_RDWR)", on: files + links),
            ("opened(p, os.O_RDONLY | os.O_TRUNC)", on: files + links),
            ("opened(p, os.O_WRONLY | os.O_APPEND)", on: files), ("opened(p, os.O_RDWR | os.O_CREAT)", on: files)),
        Rule(
            "the same of a folder", "EISDIR",
            ("opened(p, os.O_WRONLY)", on: folders), ("opened(p, os.O_RDWR)", on: folders),
            ("opened(p, os.O_RDONLY | os.O_TRUNC)", on: folders), ("opened(p, os.O_CREAT)", on: folders)),
        Rule(
            "open with O_CREAT, creat", "EROFS",
            ("opened(p + '/new', os.O_WRONLY | os.O_CREAT)", on: folders),
            ("opened(p + '/new', os.O_RDONLY | os.O_CREAT)", on: folders),
            ("raw('creat', p + '/new', 0o600)", on: folders), ("raw('creat', p, 0o600)", on: files)),
        Rule(
            "open with O_TMPFILE", "EOPNOTSUPP", ("opened(p, os.O_RDWR | os.O_TMPFILE)", on: folders)),
        Rule(
            "mkdir, mknod, mkfifo, symlink, bind", "EROFS",
            ("os.mkdir(p + '/new')", on: folders), ("os.mkdir(p + '/new/')", on: folders),
            ("os.mknod(p + '/new')", on: folders), ("os.mkfifo(p + '/new')", on: folders),
            ("os.symlink('x', p + '/new')", on: folders),
            ("os.chdir(p) or bound('new')", on: folders)),
        Rule(
            "these, with a name that is there", "EEXIST",
            ("opened(p, os.O_RDONLY | os.O_CREAT | os.O_EXCL)", on: all + links), ("os.mkdir(p)", on: all + links),
            ("os.mknod(p)", on: all + links), ("os.symlink('x', p)", on: all + links),
            ("os.link(cached, p)", on: all + links),
            ("raw('renameat2', HERE, cached, HERE, p, 1)", on: files + folders.dropFirst() + links)),
        Rule(
            "link, rename, renameat2", "EROFS",
            ("os.link(p, show + '/new')", on: files + links), ("os.rename(p, root + '/new')", on: files + links),
            ("os.rename(p, show + '/new')", on: ["latest"]), ("os.rename(p, latest + '/new')", on: ["show"]),
            ("os.rename(p, made)", on: ["remote", "cached", "link"]),
            ("raw('renameat2', HERE, p, HERE, show + '/new', 1)", on: files),
            ("raw('renameat2', HERE, p, HERE, made, 2)", on: ["remote", "cached", "link"])),  // RENAME_EXCHANGE
        Rule(
            "link, rename into the mount or out of it", "EXDEV",
            ("os.link(outside + '/file', p + '/new')", on: folders), ("os.link(p, outside + '/new')", on: files),
            ("os.rename(outside + '/file', p + '/new')", on: folders),
            ("os.rename(p, outside + '/new')", on: files + links + ["show"])),
        Rule("link of a folder", "EPERM", ("os.link(p, show + '/new')", on: folders)),
        Rule(
            "unlink, rmdir", "EROFS", ("os.unlink(p)", on: files + links), ("os.rmdir(p)", on: ["show", "latest"]),
            ("os.rmdir(p)", on: ["notes"])),
        Rule("unlink of a folder", "EISDIR", ("os.unlink(p)", on: folders)),
        Rule("rmdir of a file", "ENOTDIR", ("os.rmdir(p)", on: files + links)),
        Rule("rmdir of the mounted folder", "EBUSY", ("os.rmdir(p)", on: ["root"])),
        Rule(
            "chmod, chown, utimensat", "EROFS",
            ("os.chmod(p, 0o777)", on: all), ("os.chown(p, 1, 1)", on: all), ("os.chown(p, -1, -1)", on: all),
            ("os.lchown(p, 1, 1)", on: links), ("os.utime(p)", on: all), ("os.utime(p, (1, 1))", on: all),
            ("os.utime(p, (1, 1), follow_symlinks=False)", on: links),
            ("use(p, lambda f: os.fchmod(f, 0o777))", on: openable + folders),
            ("use(p, lambda f: os.fchown(f, 1, 1))", on: openable + folders),
            ("use(p, lambda f: os.utime(f))", on: openable + folders)),
        Rule("truncate", "EROFS", ("os.truncate(p, 0)", on: files), ("os.truncate(p, 1 << 40)", on: files)),
        Rule("truncate of a folder", "EISDIR", ("os.truncate(p, 0)", on: folders)),
        Rule(
            "ftruncate", "EINVAL", ("use(p, lambda f: os.ftruncate(f, 0))", on: openable),
            ("os.truncate(p, -1)", on: files)),
        Rule(
            "write, fallocate, copy_file_range into a file", "EBADF",
            ("use(p, lambda f: os.write(f, b'x'))", on: openable),
            ("use(p, lambda f: os.pwrite(f, b'x', 0))", on: openable),
            ("use(p, lambda f: os.posix_fallocate(f, 0, 4096))", on: openable),
            // FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
            ("use(p, lambda f: raw('fallocate', f, 3, ctypes.c_long(0), ctypes.c_long(4096)))", on: openable),
            ("use(outside + '/file', lambda s: use(p, lambda f: os.copy_file_range(s, f, 1)))", on: openable),
            ("use(cached, lambda s: use(p, lambda f: os.copy_file_range(s, f, 1)))", on: ["known"]),
            ("use(outside + '/file', lambda s: use(p, lambda f: os.sendfile(f, s, 0, 1)))", on: openable)),
        Rule(
            "mmap, shared and for writing", "EACCES",
            (
                "use(p, lambda f: mapped(f, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE))",
                on: openable
            )),
        Rule(
            "mmap, shared, of a made file", "ENODEV",
            ("use(p, lambda f: mapped(f, mmap.MAP_SHARED, mmap.PROT_READ))", on: made)),
        Rule(
            "setxattr, removexattr of what cannot be set", "EROFS",
            ("os.setxattr(p, 'user.foreign', b'1')", on: all + links),
            ("os.setxattr(p, 'user.foreign', b'1', os.XATTR_CREATE)", on: all),
            ("os.setxattr(p, 'user.podfs.state', b'cached')", on: all),
            ("os.setxattr(p, 'user.podfs.id', b'1', os.XATTR_REPLACE)", on: all),
            ("os.setxattr(p, 'user.foreign', b'1' * 65536)", on: all),
            ("os.removexattr(p, 'user.foreign')", on: all), ("os.removexattr(p, 'user.podfs.task')", on: all),
            ("os.removexattr(p, 'user.podfs.id')", on: all),
            ("os.setxattr(p, 'trusted.foreign', b'1')", on: getuid() == 0 ? all : []),
            ("os.setxattr(p, 'security.foreign', b'1')", on: getuid() == 0 ? all : [])),
        Rule(
            "setxattr of what can be, to nonsense", "EINVAL",
            ("os.setxattr(p, 'user.podfs.task', b'erase')", on: all),
            ("os.setxattr(p, 'user.podfs.task', b'')", on: all),
            ("os.setxattr(p, 'user.podfs.task', b'\\xff')", on: all),
            ("os.setxattr(p, 'user.podfs.task', b'evict')", on: made + ["latest"]),
            ("os.setxattr(p, 'user.podfs.played', b'2')", on: all),
            ("os.setxattr(p, 'user.podfs.position', b'-1')", on: all),
            ("os.setxattr(p, 'user.podfs.position', b'nan')", on: all)),
        Rule(
            "setxattr on a link itself", "EPERM",
            ("os.setxattr(p, 'user.podfs.task', b'evict', follow_symlinks=False)", on: links)),
        Rule(
            "access with W_OK", "EROFS",
            ("raw('access', p, os.W_OK)", on: all + links),
            ("raw('access', p, os.R_OK | os.W_OK)", on: all)),
        Rule(
            "access with X_OK, execve of a file", "EACCES",
            ("raw('access', p, os.X_OK)", on: files), ("os.execv(p, ['x'])", on: files)),
        Rule(
            "ioctl", "ENOTTY",
            ("use(p, lambda f: fcntl.ioctl(f, 0x80086601, bytes(8)))", on: openable + folders),  // FS_IOC_GETFLAGS
            ("use(p, lambda f: fcntl.ioctl(f, 0x40086602, bytes(8)))", on: openable + folders),  // FS_IOC_SETFLAGS
            ("use(p, lambda f: fcntl.ioctl(f, 0x5413, bytes(8)))", on: openable)),  // TIOCGWINSZ
        Rule(
            "fcntl, a lock for writing", "EBADF",
            ("use(p, lambda f: fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB))", on: openable)),
        Rule(
            "lseek with SEEK_DATA, SEEK_HOLE at the end", "ENXIO",
            ("use(p, lambda f: os.lseek(f, os.fstat(f).st_size, os.SEEK_DATA))", on: openable),
            ("use(p, lambda f: os.lseek(f, os.fstat(f).st_size, os.SEEK_HOLE))", on: openable),
            ("use(p, lambda f: os.lseek(f, 1 << 40, os.SEEK_DATA))", on: openable)),
        Rule(
            "a name of more than 255 bytes", "ENAMETOOLONG",
            ("os.stat(p + '/' + 'n' * 256)", on: folders), ("os.mkdir(p + '/' + 'n' * 256)", on: folders),
            ("opened(p + '/' + 'é' * 128, os.O_WRONLY | os.O_CREAT)", on: folders),
            ("os.rename(cached, p + '/' + 'n' * 256)", on: folders), ("os.stat(p + '/.' * 2048)", on: ["root"])),
        Rule(
            "a name below a file, a file with a slash", "ENOTDIR",
            ("os.stat(p + '/')", on: files + links), ("os.stat(p + '/x')", on: files + links),
            ("opened(p + '/', os.O_RDONLY)", on: files), ("opened(p, os.O_RDONLY | os.O_DIRECTORY)", on: files),
            ("os.mkdir(p + '/new')", on: files), ("os.listdir(p)", on: files), ("os.chdir(p)", on: files),
            ("opened(p, os.O_RDWR | os.O_TMPFILE)", on: files)),
        Rule(
            "a name that is not there", "ENOENT",
            ("os.stat(p + '/' + 'n' * 255)", on: folders), ("opened(p + '/new', os.O_WRONLY)", on: folders),
            ("os.mkdir(p + '/new/x')", on: folders), ("os.unlink(p + '/new')", on: folders),
            ("os.stat(os.fsencode(p) + b'/\\xff')", on: folders), ("os.rename(p + '/new', cached)", on: folders)),
        Rule("read of a folder", "EISDIR", ("use(p, lambda f: os.read(f, 1))", on: folders)),
        Rule("readlink of what is no link", "EINVAL", ("os.readlink(p)", on: all)),
        Rule(
            "open of a link with O_NOFOLLOW", "ELOOP", ("opened(p, os.O_RDONLY | os.O_NOFOLLOW)", on: links)),
    ]

    /// Calls that change nothing and succeed as on a disk.
    static let allowed: [SystemCallProbe.Call] = [
        .init("opened(p, os.O_RDONLY | os.O_APPEND)", on: openable),
        .init("opened(p, os.O_RDONLY | os.O_CREAT)", on: openable),
        .init("opened(p, os.O_RDONLY | os.O_NOATIME)", on: openable + folders),
        .init("opened(p, os.O_RDONLY | os.O_DIRECT)", on: openable),
        .init("opened(p, os.O_RDONLY | os.O_NONBLOCK | os.O_SYNC)", on: openable + folders),
        .init("opened(p, os.O_PATH | os.O_NOFOLLOW)", on: all + links),
        .init("os.rename(p, p)", on: all + links),
        .init("use(p, lambda f: os.fsync(f))", on: openable + folders),
        .init("use(p, lambda f: os.fdatasync(f))", on: openable + folders),
        .init("use(p, lambda f: raw('syncfs', f))", on: openable),
        .init("use(p, lambda f: fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB))", on: openable + folders),
        .init("use(p, lambda f: fcntl.lockf(f, fcntl.LOCK_SH | fcntl.LOCK_NB))", on: openable),
        .init("use(p, lambda f: mapped(f, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE))", on: openable),
        .init("use(p, lambda f: mapped(f, mmap.MAP_SHARED, mmap.PROT_READ))", on: episodes),
        .init("use(p, lambda f: os.lseek(f, 0, os.SEEK_HOLE)) == os.stat(p).st_size", on: openable),
        .init("use(p, lambda f: os.lseek(f, 0, os.SEEK_DATA)) == 0", on: openable),
        .init("use(p, lambda f: os.lseek(f, 5, os.SEEK_DATA)) == 5", on: openable),
        .init("use(p, lambda f: os.pread(f, 4096, os.fstat(f).st_size)) == b''", on: openable),
        .init("use(p, lambda f: os.pread(f, 4096, 1 << 62)) == b''", on: openable),
        .init("use(p, lambda f: os.posix_fadvise(f, 0, 0, os.POSIX_FADV_DONTNEED))", on: openable),
        .init("raw('access', p, os.F_OK)", on: all + links), .init("raw('access', p, os.R_OK)", on: all + links),
        .init("raw('access', p, os.R_OK | os.X_OK)", on: folders),
        .init("os.chdir(p)", on: folders), .init("os.stat(p + '/').st_ino == os.stat(p).st_ino", on: folders),
        .init("os.statvfs(p).f_namemax == 255", on: all),
        // The mount is not `ro`, so that the control attributes can be set.
        .init("os.statvfs(p).f_flag & (os.ST_NOSUID | os.ST_NODEV | os.ST_RDONLY) == 6", on: all),
    ]

    @Test func everyCallThatModifiesIsRefusedAndChangesNothing() async throws {
        let show = try await MountedShow()
        let probe = try await Self.probe(show)
        let before = try await Self.state(show)
        #expect(before.contains("Episode 2.mp3"))
        let requests = show.server.requests.count
        let calls = Self.refusals.flatMap(\.calls)
        let rules = Self.refusals.flatMap { rule in rule.calls.flatMap(\.paths).map { _ in rule } }
        let answers = try await probe.answers(to: calls + Self.allowed, in: show.home.directory)
        for (rule, (answer, call)) in zip(rules, answers) {
            // ENOTSUP and EOPNOTSUPP have the same number, and the table uses EOPNOTSUPP.
            #expect((answer == "ENOTSUP" ? "EOPNOTSUPP" : answer) == rule.answer, "\(rule.line): \(call)")
        }
        for (answer, call) in answers.dropFirst(rules.count) { #expect(answer == "done", "\(call)") }
        let after = try await Self.state(show)
        let differences = Set(after.split(separator: "\n")).symmetricDifference(before.split(separator: "\n"))
        #expect(differences.isEmpty, "\(differences.sorted())")
        #expect(show.server.requests.count == requests, "\(show.server.requests.map(\.path))")
        let outside = try FileManager.default.contentsOfDirectory(atPath: show.home.directory.file("outside"))
        #expect(outside == ["file"])
    }

    private static func probe(_ show: MountedShow) async throws -> SystemCallProbe {
        _ = try await show.read(show.path(3))
        try await show.waitForState("cached", of: show.path(3))
        try await show.confirmSize(of: show.path(2))
        // The library records it after the reply, and the ctime of the links changes with it.
        try await waitUntil(description: "the library has the size of the second episode") {
            let episodes: [[String: Any]] = try await show.home.run("list", MountedShow.show, "--json").json()
            return episodes.contains {
                $0["name"] as? String == "2026-01-02 Episode 2.mp3" && $0["size_source"] as? String == "server"
            }
        }
        let root = show.mount.mountPoint
        let outside = try show.home.directory.makeDirectory("outside")
        _ = try show.home.directory.write("outside/file", text: "not of podfs")
        let folder = "\(root)/\(MountedShow.show)"
        return SystemCallProbe(paths: [
            "root": root, "show": folder, "latest": "\(root)/Latest", "notes": "\(folder)/.notes",
            "remote": show.path(1), "known": show.path(2), "cached": show.path(3), "made": "\(folder)/playlist.m3u8",
            "status": "\(root)/.status", "link": "\(root)/Latest/2026-01-03 Episode 3 - Example Show.mp3",
            "outside": outside,
        ])
    }

    /// Returns the metadata of the tree and the digest of the cached episode. Omits access times, and the times of the
    /// status files and of the pages in the mounted folder, which are always the current time.
    private static func state(_ show: MountedShow) async throws -> String {
        let root = show.mount.mountPoint
        let tree = try await ChildProcess.run(
            "find",
            [
                root, "-printf", "%P|%i|%m|%n|%U|%G|%l|",
                // The status says how long ago a task ended, so its size changes by itself and is omitted.
                "(", "-name", ".status*", "-o", "-printf", "%s|%b|", ")",
                "(", "-name", ".status*", "-o", "-path", "\(root)/index.html", "-o", "-path", "\(root)/*/index.html",
                "-o",
                "-printf",
                "%T@|%C@", ")", "-printf", "\\n",
            ])
        let attributes = try await ChildProcess.run("getfattr", ["-R", "-d", "-m", "-", "--absolute-names", root])
        let sum = try await ChildProcess.run("sha256sum", [show.path(3)])
        #expect(tree.exitCode == 0 && attributes.exitCode == 0 && sum.exitCode == 0)
        return tree.output + attributes.output + sum.output
    }

    @Test func theManualHasTheSameTable() throws {
        let manual = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../man/podfs-semantics.7")
        let text = try String(contentsOf: manual, encoding: .utf8)
        let section = try #require(text.split(separator: ".SH WHAT IS REFUSED\n").last?.split(separator: ".SH ").first)
        let table = try #require(section.split(separator: "\n.nf\n").last?.split(separator: "\n.fi").first)
        let lines = table.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
        #expect(lines == Self.refusals.map { "\($0.line) \($0.answer)" })
    }
}
