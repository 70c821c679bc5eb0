import Foundation
import Glibc
import Platform
import TestSupport
import Testing

@testable import podfs

/// Mounting by different users and programs, and with different options.
@Suite(.timeLimit(.minutes(5))) struct MountingTests {
    /// Returns the fields of the mount's entry in the mount table: source, mount point, type, options.
    private static func entry(_ mount: MountGuard, in namespace: MountNamespace? = nil) throws -> [String]? {
        try String(contentsOfFile: namespace?.mounts ?? "/proc/self/mounts", encoding: .utf8).split(separator: "\n")
            .map { $0.split(separator: " ").map(String.init) }.last { $0.count > 3 && $0[1] == mount.mountPoint }
    }

    // MARK: Without privileges

    @Test(.enabled(if: OrdinaryHome.isPossible, OrdinaryHome.requirement))
    func anOrdinaryUserMountsThroughTheHelper() async throws {
        let ordinary = try await OrdinaryHome()
        try await ordinary.run(ordinary.program, "mount", ordinary.mount.mountPoint).succeeded()
        let entry = try #require(try Self.entry(ordinary.mount, in: ordinary.namespace))
        #expect(entry[3].contains("user_id=\(OrdinaryHome.user)"))
        try await Self.expectItServes(ordinary)
        try await ordinary.run(ordinary.program, "unmount", ordinary.mount.mountPoint).succeeded()
        #expect(!ordinary.mount.isMounted)
        let other = try await ordinary.run(ordinary.program, "mount", "-o", "setuid=root", ordinary.mount.mountPoint)
        #expect(other.exitCode == 77 && other.error.contains("only root may mount for another user"), "\(other.error)")
    }

    /// Without the option `allow_other`, root has no access to a user's mount.
    @Test(.enabled(if: OrdinaryHome.isPossible, OrdinaryHome.requirement))
    func rootDetachesAUsersBusyMountOnlyByForce() async throws {
        let ordinary = try await OrdinaryHome()
        let folder = ordinary.mount.mountPoint
        try await ordinary.run(ordinary.program, "mount", folder).succeeded()
        let command = ordinary.namespace.entering(
            OrdinaryHome.asUser + ["sh", "-c", "cd \"$0\" && echo in && exec sleep 600", folder])
        let holder = try ChildProcess(command[0], Array(command.dropFirst()), environment: ordinary.home.environment)
        try await holder.waitForOutput("in")
        try await ordinary.runAsRoot([ordinary.program, "unmount", folder]).failed(says: "is in use by sleep (")
        #expect(ordinary.mount.isMounted)
        try await ordinary.runAsRoot(
            ["setpriv", "--reuid=1", "--regid=1", "--clear-groups", "--", ordinary.program, "unmount", folder]).failed(
                says: "is a mount of user \(OrdinaryHome.user), not yours")
        try await ordinary.runAsRoot([ordinary.program, "unmount", "--force", folder]).succeeded()
        #expect(!ordinary.mount.isMounted)
        holder.kill()
    }

    @Test(.enabled(if: OrdinaryHome.isPossible, OrdinaryHome.requirement))
    func aUserWithoutAccessToTheDeviceGetsARemedy() async throws {
        let ordinary = try await OrdinaryHome()
        try await ordinary.runAsRoot(["chmod", "600", "/dev/fuse"]).succeeded()
        let refused = try await ordinary.run(ordinary.program, "mount", ordinary.mount.mountPoint).failed()
        #expect(refused.error.split(separator: "\n").count == 1, "\(refused.error)")
        #expect(refused.error.contains("as root: chmod 666 /dev/fuse"), "\(refused.error)")
        let doctor = try await ordinary.run(ordinary.program, "doctor").failed()
        #expect(
            doctor.output.contains("/dev/fuse: you have no permission to open it, so you cannot mount"),
            "\(doctor.output)")
        #expect(doctor.output.contains("chmod 666 /dev/fuse"), "\(doctor.output)")
    }

    /// Checks that the mount's process and the daemon run as the user, who can read the episode and set its attributes,
    /// and that root has no access.
    private static func expectItServes(_ ordinary: OrdinaryHome) async throws {
        let process = try await ordinary.mountProcess()
        #expect(try ordinary.user(of: process) == "\(OrdinaryHome.user)")
        #expect(try ordinary.user(of: try #require(ordinary.home.daemonProcessIdentifier)) == "\(OrdinaryHome.user)")
        let read = try await ordinary.run("cat", ordinary.episode).succeeded()
        #expect(MountedShow.content(1).equals(read.standardOutput))
        // The files belong to the user, and only the user has access.
        try await ordinary.run("stat", "-c", "%u", ordinary.episode).printed("\(OrdinaryHome.user)\n")
        try await ordinary.run("setfattr", "-n", "user.podfs.played", "-v", "1", ordinary.episode).succeeded()
        #expect(try await ordinary.runAsRoot(["ls", ordinary.mount.mountPoint]).says(EACCES))
    }

    /// A hostile mount, or one served from a container, may name any process.
    @Test func onlyTheProcessThatServesAMountIsItsProcess() async throws {
        let (show, other) = (try await MountedShow(episodes: 1), try await MountedShow(episodes: 1))
        let mount = try #require(MountEntry.at(show.mount.mountPoint))
        #expect(mount.isPodfs && mount.owner == getuid())
        let (id, stranger) = (try await show.mountProcess(), try await other.mountProcess())
        #expect(mount.process(id)?.id == id)
        for id in [-1, 0, 1, -id, getpid(), getppid()] { #expect(mount.process(id) == nil, "\(id)") }
        var foreign = mount
        foreign.owner = getuid() + 1
        #expect(foreign.process(id) == nil)
        // Kernels before 6.16 do not report to which mount an open /dev/fuse belongs.
        let facts = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/fdinfo").map {
            (try? String(contentsOfFile: "/proc/\(id)/fdinfo/\($0)", encoding: .utf8)) ?? ""
        }
        if facts.contains(where: { $0.contains("fuse_connection:") }) { #expect(mount.process(stranger) == nil) }
    }

    // MARK: Options

    @Test func optionsReachTheKernel() async throws {
        let show = try await MountedShow(isMounted: false)
        try await show.home.run(
            "mount", "-o", "noexec,noatime,max_read=65536,x-gvfs-hide", "-o", "fsname=my\\,shows,subtype=shows",
            show.mount.mountPoint
        ).succeeded()
        let entry = try #require(try Self.entry(show.mount))
        #expect(entry[0] == "my,shows")
        #expect(entry[2] == "fuse.shows")
        let options = Set(entry[3].split(separator: ",").map(String.init))
        #expect(options.isSuperset(of: ["rw", "nosuid", "nodev", "noexec", "noatime", "max_read=65536"]), "\(entry)")
        let read = try await show.read(show.path(1))
        #expect(MountedShow.content(1).matches(read.standardOutput) && read.standardOutput.count == 300_000)
        // podfs recognizes its mount despite the other file system type.
        let missing = try await show.home.run("download", "\(show.mount.mountPoint)/Missing")
        #expect(missing.error.contains("does not exist"), "\(missing.error)")
        let twice = try await show.home.run("mount", show.mount.mountPoint)
        #expect(twice.error.contains("is mounted already"), "\(twice.error)")
        try await show.home.run("unmount", show.mount.mountPoint).succeeded()
    }

    @Test func filesBelongToTheUserAndGroupInTheOptions() async throws {
        let show = try await MountedShow(isMounted: false)
        try await show.home.run("mount", "-o", "uid=nobody,gid=12345", show.mount.mountPoint).succeeded()
        for path in [show.mount.mountPoint, show.path(1), "\(show.mount.mountPoint)/.status"] {
            let owner = try await ChildProcess.run("stat", ["-c", "%u %g", path])
            #expect(owner.output == "65534 12345\n", "\(path) \(owner.error)")
        }
        // The mounting user may set control attributes although the files belong to another user.
        try await ChildProcess.run("setfattr", ["-n", "user.podfs.played", "-v", "1", show.path(1)]).succeeded()
        try await show.home.run("mount", "-o", "uid=no such user", show.mount.mountPoint).failed()
    }

    // MARK: mount(8) and fstab

    /// The beginning of a script. It installs `$0` in /usr/local/bin of its mount namespace, since mount(8) does not
    /// pass PATH on, and unmounts `$1` when the script exits.
    private static let installed = """
        mount -t tmpfs none /usr/local/bin && ln -s "$0" /usr/local/bin/podfs || exit 9
        trap 'umount -l "$1" 2> /dev/null' EXIT
        """

    private static func runInstalled(_ show: MountedShow, _ script: String, _ arguments: String...) async throws
        -> ChildProcess.Result
    {
        try await ChildProcess.run(
            "unshare",
            ["--mount", "sh", "-c", installed + "\n" + script, PodfsHome.executable, show.mount.mountPoint] + arguments,
            environment: show.home.environment)
    }

    @Test(.enabled(if: getuid() == 0, "mount(8) mounts for root"))
    func aLineOfFstabIsMounted() async throws {
        let show = try await MountedShow(isMounted: false)
        let point = show.mount.mountPoint
        let table = try show.home.directory.write(
            "fstab", text: "podfs \(point) fuse.podfs noauto,user,exec,_netdev,noexec,x-gvfs-show,uid=1000 0 0\n")
        let script = """
            mount -T "$2" "$1" && grep " $1 " /proc/self/mounts && stat -c %u "$3" && mount -T "$2" -a && cat "$3" && umount "$1"
            """
        let result = try await Self.runInstalled(show, script, table, show.path(1)).succeeded()
        let lines = result.standardOutput.split(separator: 10, maxSplits: 2, omittingEmptySubsequences: false)
        try #require(lines.count == 3)
        let entry = String(decoding: lines[0], as: UTF8.self)
        #expect(entry.hasPrefix("podfs \(point) fuse.podfs rw,nosuid,nodev,noexec"), "\(entry)")
        #expect(lines[1].elementsEqual("1000".utf8))
        #expect(lines[2].count == 300_000)
        #expect(MountedShow.content(1).matches(Array(lines[2])))
    }

    @Test(.enabled(if: OrdinaryHome.isPossible, OrdinaryHome.requirement))
    func aUserMountsWhatFstabLetsUsersMount() async throws {
        let ordinary = try await OrdinaryHome()
        let point = ordinary.mount.mountPoint
        let table = try ordinary.home.directory.write(
            "fstab", text: "podfs \(point) fuse.podfs noauto,user 0 0\n")
        let script =
            Self.installed + """

                chmod 644 "$2" && touch /etc/fstab && mount --bind "$2" /etc/fstab || exit 8
                \(MountNamespace.openDevice("true")) || exit 6
                setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'mount "$1" && cat "$2"' sh "$1" "$3" || exit 7
                setpriv --reuid=65534 --regid=65534 --clear-groups "$0" unmount --quiet "$1"
                """
        let result = try await ChildProcess.run(
            "unshare",
            ["--mount", "sh", "-c", script, ordinary.program, point, table, ordinary.episode],
            environment: ordinary.home.environment
        ).succeeded()
        #expect(MountedShow.content(1).equals(result.standardOutput))
    }

    @Test(.enabled(if: getuid() == 0, "mount(8) mounts for root"))
    func theMountSourceMayNameTheProgram() async throws {
        let show = try await MountedShow(isMounted: false)
        let result = try await Self.runInstalled(
            show, "mount -t fuse podfs#shows \"$1\" && grep \" $1 \" /proc/self/mounts && umount \"$1\""
        ).succeeded()
        #expect(result.output.hasPrefix("shows \(show.mount.mountPoint) fuse.podfs rw,"), "\(result.output)")
    }

    /// Runs the program under the name of a mount(8) helper, through a link like the one that a package installs.
    @Test(
        .enabled(if: OrdinaryHome.isPossible, OrdinaryHome.requirement),
        arguments: ["mount.podfs", "mount.fuse.podfs"])
    func theProgramIsAMountHelperUnderThatName(name: String) async throws {
        let ordinary = try await OrdinaryHome()
        let folder = try TemporaryDirectory()
        try FileManager.default.createSymbolicLink(
            atPath: folder.file(name), withDestinationPath: ordinary.program)
        func helper(_ arguments: String...) async throws -> ChildProcess.Result {
            try await ordinary.runAsRoot([folder.file(name), "the shows", ordinary.mount.mountPoint] + arguments)
        }
        try await helper("-f", "-n", "-v", "-o", "rw,noauto").succeeded()
        #expect(!ordinary.mount.isMounted)
        try await helper("-o", "frobnicate").failed(32)
        try await helper("-r").failed(32, says: "the mount option ro is not supported")
        try await helper("-sn", "-o", "rw,setuid=nobody,frobnicate", "-t", "fuse.podfs").succeeded()
        #expect(try Self.entry(ordinary.mount, in: ordinary.namespace)?[0] == "the\\040shows")
        try await Self.expectItServes(ordinary)
        // The mount starts the next daemon, which inherits its environment. HOME proves nothing: the test has set it.
        try await ordinary.home.endDaemon(SIGTERM)
        try await ordinary.run("setfattr", "-n", "user.podfs.played", "-v", "0", ordinary.episode).succeeded()
        let daemon = try #require(ordinary.home.daemonProcessIdentifier)
        let variables = try String(contentsOfFile: "/proc/\(daemon)/environ", encoding: .utf8).split(separator: "\0")
        #expect(variables.contains("USER=nobody") && variables.contains("LOGNAME=nobody"), "\(variables)")
    }

    @Test(.enabled(if: OrdinaryHome.isPossible, OrdinaryHome.requirement))
    func theHomeOfRootIsReplacedByTheHomeOfTheUser() async throws {
        // The home folder of `nobody` does not exist. The error contains the path that podfs derived from it.
        let ordinary = try await OrdinaryHome()
        var environment = ordinary.home.environment.filter { !$0.key.hasPrefix("XDG_") }
        environment["HOME"] = "/root"
        let folder = try TemporaryDirectory()
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("mount.podfs"), withDestinationPath: ordinary.program)
        try await ChildProcess.run(
            folder.file("mount.podfs"), ["podfs", ordinary.mount.mountPoint, "-o", "setuid=nobody"],
            environment: environment
        ).failed(32, says: "/nonexistent/.local/share/podfs")
        #expect(!ordinary.mount.isMounted)
    }

    @Test func unmountingFromWithinReportsTheShellButNotPodfs() async throws {
        let show = try await MountedShow(episodes: 1)
        let shell = try await ChildProcess.run(
            "sh", ["-c", "cd \"$1\" && \"$0\" unmount \"$1\"; exit $?", PodfsHome.executable, show.mount.mountPoint],
            environment: show.home.environment
        ).failed(says: "is in use by sh (")
        #expect(!shell.error.contains("podfs ("), "\(shell.error)")
        // `exec` replaces the shell by podfs. The current folder of podfs itself is now in the mount, which does not
        // prevent the unmount.
        try await ChildProcess.run(
            "sh", ["-c", "cd \"$1\" && exec \"$0\" unmount \"$1\"", PodfsHome.executable, show.mount.mountPoint],
            environment: show.home.environment
        ).succeeded()
    }
}
