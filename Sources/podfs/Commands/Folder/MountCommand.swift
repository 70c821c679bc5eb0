import ArgumentParser
import Foundation
import Fuse
import PodcastLibrary
import PodcastProtocol

struct MountCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "mount",
        abstract: "Mount the subscriptions as a folder, until podfs unmount.",
        discussion: """
            Returns when the mount answers. DIR must exist and be empty; a dead mount left there is detached first.

            Options: allow_other, uid=USER and gid=GROUP (the owner of the files), setuid=USER (root mounts for a user), \
            fsname=NAME, subtype=NAME, max_read=BYTES, no_passthrough (if root mounts: the kernel must not read cached \
            episodes without calling podfs), probe=list|all|none (which programs fetch only what they read), nosuid, nodev, noexec, noatime and others listed in podfs(1).

            Examples:
              podfs mount ~/Podcasts
              podfs mount --foreground ~/Podcasts
              podfs mount -o fsname=shows,noexec ~/Podcasts

            In /etc/fstab: podfs /home/ann/Podcasts fuse.podfs noauto,user 0 0
            """)

    @Argument(help: ArgumentHelp("The folder to mount on.", valueName: "dir"), completion: .directory)
    var folder: String

    @Flag(help: "Stay in the foreground until unmounted; Ctrl-C unmounts.")
    var foreground = false

    @Flag(help: "Let other users read; needs user_allow_other in /etc/fuse.conf unless root mounts.")
    var allowOther = false

    @Option(
        name: .customShort("o"), help: ArgumentHelp("Mount options, separated by commas.", valueName: "options")
    )
    var options: [String] = []

    @OptionGroup var report: Reporting

    /// The descriptor of a pipe to the process that started this one in the background, for `SpawnedSelf.report`.
    @Option(help: .hidden)
    var readyDescriptor: Int32?

    /// The first column of fstab, if mount(8) calls podfs as its helper. The flags below are valid only then.
    @Option(help: .hidden)
    var source: String?

    @Flag(name: .customShort("s"), help: .hidden)
    var sloppy = false

    @Flag(name: .customShort("f"), help: .hidden)
    var fake = false

    @Flag(name: .customShort("n"), help: .hidden)
    var noTable = false

    @Flag(name: .customShort("v"), help: .hidden)
    var verbose = false

    @Flag(name: .customShort("r"), help: .hidden)
    var readOnly = false

    @Flag(name: .customShort("w"), help: .hidden)
    var readWrite = false

    @Option(name: .customShort("t"), help: .hidden)
    var type: String?

    func validate() throws {
        if source == nil, sloppy || fake || noTable || verbose || readOnly || readWrite || type != nil {
            throw ValidationError("-s, -f, -n, -v, -r, -w and -t are only for mount(8) when it calls podfs as a helper")
        }
    }

    func perform() async throws {
        guard let source else {
            return try await start(try parsedOptions())
        }
        do {
            var options = try parsedOptions()
            // mount(8) recognizes an existing mount by its source.
            if options.fsname == nil, !source.isEmpty { options.fsname = source }
            if !fake { try await start(options) }
        } catch {
            Terminal.error(CommandError(error).description)
            // "mount failure", an exit code of mount(8).
            throw ExitCode(32)
        }
    }

    private func parsedOptions() throws -> MountOptions {
        do {
            var parsed = try MountOptions(parsing: readOnly ? options + ["ro"] : options, ignoresUnknown: sloppy)
            if allowOther { parsed.allowOther = true }
            return parsed
        } catch {
            throw CommandError(.usage, error.description)
        }
    }

    /// Switches to the user that the option `setuid` names, if any, then mounts the folder. This process serves the
    /// mount if `foreground` is set; otherwise it starts a background process for it.
    private func start(_ options: MountOptions) async throws {
        if let user = options.user { try Account(user: user).become() }
        if source != nil || options.user != nil { Account.setUserEnvironment() }
        let installation = try Installation()
        let configuration = try installation.configuration()
        if foreground || readyDescriptor != nil {
            return try await SpawnedSelf.report(to: readyDescriptor) { ready in
                let path = try MountPoint.prepare(folder)
                let mount = try Mount(installation, configuration, at: path, options: options)
                // Leave the current folder: while it is in use, its filesystem cannot be unmounted. It may even be
                // the mounted folder.
                chdir("/")
                try mount.run(ready: ready)
            }
        }
        let path = try MountPoint.prepare(folder)
        try installation.launcher.makeFolders()
        try SpawnedSelf.start("mount", ["-o", options.text, "--", path], log: installation.paths.state + "/mount.log")
        // As a helper of mount(8), the command prints nothing on success.
        guard source == nil else { return }
        report.print("mounted on \(folder)")
        if let library = try? installation.library(), try library.folders().isEmpty {
            report.print("it has no shows yet: podfs subscribe URL")
        }
    }
}

/// The command line with which mount(8) calls podfs for a line of fstab.
///
/// With `mount -t fuse.podfs SOURCE DIR`, mount.fuse3(8) runs `podfs SOURCE DIR -o OPTIONS`. Under the name
/// `mount.fuse.podfs` or `mount.podfs` the program is called by mount(8) itself, with
/// `SOURCE DIR [-sfnvrw] [-o OPTIONS] [-t TYPE]`.
enum MountHelper {
    /// The names under which mount(8) itself calls the program. SOURCE may then be any word; `mount` and `df` show it.
    private static let names: Set<String> = ["mount.podfs", "mount.fuse.podfs"]

    /// Translates a helper's arguments to those of `podfs mount`, without the program's name.
    ///
    /// - Parameters:
    ///   - arguments: All arguments, starting with the program's name.
    ///   - subcommands: The program's subcommands, which cannot be source names.
    /// - Returns: `nil` if this is not a helper call.
    static func translate(_ arguments: [String], subcommands: Set<String>) -> [String]? {
        guard let program = arguments.first else { return nil }
        let rest = Array(arguments.dropFirst())
        func mount(_ source: String, _ others: some Sequence<String>) -> [String] {
            ["mount", "--source=" + source] + others
        }
        if names.contains(URL(fileURLWithPath: program).lastPathComponent) {
            return mount(rest.first ?? "", rest.dropFirst())
        }
        guard let first = rest.first, !first.hasPrefix("-"), !subcommands.contains(first) else { return nil }
        // If there is no source, mount.fuse3 passes only the folder.
        if first.hasPrefix("/") { return rest.count > 1 && rest[1] == "-o" ? mount("", rest) : nil }
        // An unknown word is a mistyped command rather than a source, unless it is `podfs` or `-o` follows the folder.
        guard rest.count > 1, rest[1].hasPrefix("/"), first == "podfs" || rest.count > 2 && rest[2] == "-o" else {
            return nil
        }
        return mount(first, rest.dropFirst())
    }
}
