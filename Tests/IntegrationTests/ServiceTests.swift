import Foundation
import Glibc
import PodcastProtocol
import TestSupport
import Testing

@testable import podfs

/// The systemd units that `podfs service install` writes, and the autostart entry that it prints without systemd.
@Suite(.timeLimit(.minutes(5))) struct ServiceTests {
    private let home: PodfsHome
    private let folder: String

    init() throws {
        home = try PodfsHome()
        folder = home.directory.file("config/systemd/user")
        try home.directory.makeDirectory("bin")
    }

    /// Installs a fake systemctl that records its arguments, and fails if they match the shell pattern `pattern`.
    private func makeManager(refusing pattern: String = "nothing") throws {
        let program = """
            #!/bin/sh
            echo "$@" >>"$HOME/asked"
            case "$*" in \(pattern)) echo "Failed to connect to bus" >&2; exit 1;; esac
            """
        try home.directory.writeProgram("bin/systemctl", text: program)
    }

    private func run(
        _ arguments: String..., path: String? = nil, variables: [String: String] = [:]
    ) async throws -> ChildProcess.Result {
        var environment = home.environment.merging(variables) { $1 }
        environment["PATH"] = path ?? home.directory.file("bin") + ":" + (environment["PATH"] ?? "")
        return try await ChildProcess.run(PodfsHome.executable, arguments, environment: environment)
    }

    private var asked: [String] {
        let text = (try? String(contentsOfFile: home.home + "/asked", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map { String($0).replacing("--user --no-ask-password ", with: "") }
    }

    @Test func installWritesAndEnablesTheUnitsAndUninstallRemovesThem() async throws {
        try makeManager()
        let podcasts = try home.directory.makeDirectory("My Podcasts")
        try await run("service", "install", "--mount", podcasts).succeeded()
        let mount = Units.mountName(of: podcasts)
        #expect(mount.hasSuffix("My\\x20Podcasts.service"))
        #expect(asked == ["daemon-reload", "enable --now podfs.socket", "enable --now \(mount)"])
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        #expect(names == ["podfs-mount@.service", "podfs.service", "podfs.socket"])
        let socket = try String(contentsOfFile: folder + "/podfs.socket", encoding: .utf8)
        #expect(socket.contains("ListenStream=\(home.socket)\n"))
        let service = try String(contentsOfFile: folder + "/podfs.service", encoding: .utf8)
        #expect(service.contains("Environment=XDG_CACHE_HOME=\(home.directory.file("cache"))\n"))
        let unit = try String(contentsOfFile: folder + "/podfs-mount@.service", encoding: .utf8)
        #expect(unit.contains("\nKillMode=process\n"))
        let doctor = try await run("doctor")
        #expect(doctor.output.contains("ok       systemd: units in \(folder)\n"), "\(doctor.output)")
        try home.directory.write("config/systemd/user/podfs.service", text: "[Service]\nExecStart=/bin/true\n")
        let stale = try await run("doctor")
        let warning = "warning  systemd: \(folder)/podfs.service is missing or differs from this version's unit"
        #expect(stale.output.contains(warning), "\(stale.output)")
        try await run("service", "uninstall").succeeded()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        #expect(asked.contains("disable --now podfs.socket"))
        #expect(try await run("doctor").output.contains("no podfs units are installed"))
        #expect(try await run("service", "uninstall").exitCode == 1)
    }

    /// The units of a package serve every user, and contain no path or setting of the user who builds it.
    @Test func theUnitsOfAPackageAreForEveryUser() async throws {
        try makeManager()
        let root = try home.directory.makeDirectory("root")
        let written = try await run("service", "install", "--package", root)
        #expect(written.exitCode == 0 && asked.isEmpty, "\(written.error)")
        #expect(!FileManager.default.fileExists(atPath: folder))
        let units = root + "/usr/lib/systemd/user"
        for name in ["podfs-mount@.service", "podfs.service", "podfs.socket"] {
            let text = try String(contentsOfFile: "\(units)/\(name)", encoding: .utf8)
            #expect(!text.contains("Environment") && !text.contains(home.directory.path), "\(text)")
            let command = name == "podfs.service" ? "ExecStart=/usr/bin/podfs " : "ExecStart=:/usr/bin/podfs "
            #expect(name == "podfs.socket" || text.contains(command), "\(text)")
        }
        let socket = try String(contentsOfFile: "\(units)/podfs.socket", encoding: .utf8)
        #expect(socket.contains("ListenStream=%t/podfs/daemon.sock\n"))
    }

    @Test func withoutAManagerInstallPrintsHowToEnableTheUnits() async throws {
        try makeManager(refusing: "*daemon-reload*")
        let installed = try await run("service", "install", "--mount", "/srv/p").succeeded()
        #expect(installed.output.contains("  systemctl --user enable --now 'podfs.socket'\n"))
        #expect(installed.output.contains("  systemctl --user enable --now 'podfs-mount@srv-p.service'\n"))
    }

    @Test func aRefusalByTheServiceManagerIsReported() async throws {
        try makeManager(refusing: "*enable*")
        try await run("service", "install").failed(says: "enable --now 'podfs.socket': Failed to connect to bus")
    }

    @Test func withoutSystemdInstallPrintsAnAutostartEntry() async throws {
        let result = try await run("service", "install", "--mount", "/srv/p", path: home.directory.file("bin")).failed(
            says: "~/.config/autostart/podfs.desktop")
        #expect(result.output.contains("[Desktop Entry]\nType=Application\n"))
        #expect(result.output.contains("Exec=\"\(PodfsHome.executable)\" mount \"/srv/p\"\n"), "\(result.output)")
        #expect(!FileManager.default.fileExists(atPath: folder))
    }

    @Test(arguments: [
        ("/srv/My Podcasts", "/srv/My Podcasts"), (#"/a"b"#, #"/a\\"b"#), ("/a`b$c", #"/a\\`b\\$c"#),
        (#"/a\b"#, #"/a\\\\b"#), ("/100%", "/100%%"), ("/a\nb\tc\rd", #"/a\nb\tc\rd"#),
    ])
    func anAutostartEntryQuotesTheFolder(folder: String, quoted: String) {
        #expect(Service.execArgument(folder) == "\"\(quoted)\"")
    }

    @Test(.enabled(if: InstalledProgram.exists("systemd-analyze"))) func systemdFindsNothingWrongWithTheUnits()
        async throws
    {
        try makeManager()
        #expect(try await run("service", "install").exitCode == 0)
        let units = ["podfs.socket", "podfs.service", "podfs-mount@srv-p.service"]
        // A link to the template creates an instance.
        symlink("podfs-mount@.service", "\(folder)/podfs-mount@srv-p.service")
        let result = try await ChildProcess.run(
            "systemd-analyze", ["--user", "verify"] + units.map { "\(folder)/\($0)" }, environment: home.environment)
        #expect(result.exitCode == 0 && result.error.isEmpty, "\(result.error)")
    }

    @Test(.enabled(if: InstalledProgram.exists("systemd-escape"))) func pathsAreEscapedAsSystemdEscapesThem()
        async throws
    {
        for path in ["/", "/home/user/Podcasts", "/srv/My Podcasts/ä-1", "/.hidden/a.b", "/a//b/", "/x:y_z/$%"] {
            let result = try await ChildProcess.run("systemd-escape", ["--path", path])
            #expect(Units.escaped(path) == result.output.dropLast(), "\(path)")
        }
    }

    @Test(arguments: ["\n[Service]\nExecStartPre=/bin/evil", "\r", "\u{1B}c", "\u{7F}"])
    func aPathWithAControlCharacterIsRefused(text: String) async throws {
        try makeManager()
        let strange = home.directory.file("home" + text)
        var environment = home.environment
        environment["PATH"] = home.directory.file("bin") + ":" + (environment["PATH"] ?? "")
        for variable in ["HOME", "XDG_RUNTIME_DIR", "XDG_DATA_HOME"] {
            let result = try await ChildProcess.run(
                PodfsHome.executable, ["service", "install"],
                environment: environment.merging([variable: strange]) { $1 }
            ).failed(says: "contains a control character")
            #expect(result.error.split(separator: "\n").count == 1)
        }
        #expect(asked.isEmpty && !FileManager.default.fileExists(atPath: folder))
    }

    @Test func theProgramAndTheVariablesAreQuotedAndNothingIsExpanded() throws {
        let environment = ["HOME": "/home/a", "XDG_RUNTIME_DIR": "/run/user/\(getuid())", "XDG_CACHE_HOME": "/b$c"]
        let paths = try #require(InstallationPaths(environment: environment))
        let texts = Units(executable: "/opt/a b/po%d$x", paths: paths, environment: environment).all.map(\.text)
        for text in texts where text.contains("[Service]") {
            #expect(text.contains("Environment=\"XDG_CACHE_HOME=/b$c\"\n"), "\(text)")
        }
        #expect(texts.joined().contains("ExecStart=\"/opt/a b/po%%d$x\" daemon --foreground\n"), "\(texts)")
        // The prefix `:` disables the expansion of variables in the folder's name.
        let mount = try #require(texts.last)
        #expect(mount.contains("\nExecStart=:\"/opt/a b/po%%d$x\" mount --foreground %f\n"), "\(mount)")
        #expect(mount.contains("\nExecStartPre=:/bin/mkdir -p %f\n"), "\(mount)")
    }
}
