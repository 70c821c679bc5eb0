import ArgumentParser
import Foundation
import Fuse
import Glibc
import Platform
import PodcastLibrary
import PodcastPages
import PodcastProtocol
import Transfers

struct DemoCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Try podfs offline: two made-up shows from a built-in server, with a temporary library and cache.",
        discussion: """
            Mounts on DIR, reads the first episode, and runs until Ctrl-C; then it removes everything it made. Your own \
            subscriptions are not affected.

            Example:
              podfs demo
            """)

    @Argument(
        help: ArgumentHelp(
            "The folder to mount on; created if it does not exist. Default: ~/podfs-demo", valueName: "dir"),
        completion: .directory)
    var folder: String?

    @Flag(help: "Exit when the first episode is cached, for scripts.")
    var once = false

    func perform() async throws {
        let work = Task(executorPreference: WorkerPool.shared) { try await demonstrate() }
        // Ctrl-C cancels the work; the cleanup still runs.
        let sources = [SIGINT, SIGTERM, SIGHUP].map { signalSource($0) { work.cancel() } }
        defer { for source in sources { source.cancel() } }
        try await work.value
    }

    /// Starts a server, a daemon, a mount and a reader, and removes everything at the end.
    private func demonstrate() async throws {
        let home = try DemoHome(folder: folder)
        var problem: (any Error)?
        do {
            let server = try await DemoServer(folder: home.root + "/server")
            do { try await show(home, server) } catch { problem = error }
            await server.stop()
        } catch {
            problem = error
        }
        let left = home.remove()
        if let problem, !(problem is CancellationError) { throw problem }
        guard left.isEmpty else {
            throw CommandError(.failed, "the demo could not remove \(left.joined(separator: ", "))")
        }
        Terminal.print("The demo has removed everything it made.")
    }

    /// Subscribes to the shows, mounts them and reads the first episode. With `once`, returns after that; otherwise
    /// runs until the task is cancelled.
    private func show(_ home: DemoHome, _ server: DemoServer) async throws {
        let daemon = try Installation().daemon()
        defer { daemon.close() }
        for show in DemoShow.all {
            let added = try await daemon.perform(.subscribe(url: server.base + show.feedPath, name: nil), \.subscribed)
            Terminal.print("Subscribed to \(added.name): \(added.episodes) episodes.")
        }
        try home.mount()
        Terminal.print("\nMounted on \(home.folder):\n")
        let episode = try printTree(home.folder)
        Terminal.print(
            """

            Try, in another terminal:
              getfattr -d -m - \(ShellQuoting.quoted(episode))
              cat \(ShellQuoting.quoted(home.folder + "/.status"))
              mpv \(ShellQuoting.quoted(episode))

            Reading the first episode, as a player would:
            """)
        try await read(episode)
        if once { return }
        Terminal.print("\nThe demo runs until Ctrl-C.")
        // Waits until the task is cancelled.
        for await _ in AsyncStream<Void>.makeStream().stream {}
    }

    /// Prints the tree of the mount.
    ///
    /// - Returns: The path of the first episode.
    private func printTree(_ folder: String) throws -> String {
        var first: String?
        let manager = FileManager.default
        func list(_ folder: String, _ indent: String) throws {
            for name in try manager.contentsOfDirectory(atPath: folder).sorted() where !name.hasPrefix(".") {
                let path = "\(folder)/\(name)"
                let facts = try manager.attributesOfItem(atPath: path)
                switch facts[.type] as? FileAttributeType {
                case .typeDirectory?:
                    Terminal.print("\(indent)\(name)/")
                    if indent.count < 4 { try list(path, indent + "  ") }
                case .typeSymbolicLink?:
                    Terminal.print("\(indent)\(name) -> \(try manager.destinationOfSymbolicLink(atPath: path))")
                default:
                    Terminal.print("\(indent)\(name)  \(ByteText.size((facts[.size] as? NSNumber)?.int64Value ?? 0))")
                    if first == nil, PathResolver.attribute("user.podfs.id", of: path) != nil { first = path }
                }
            }
        }
        try list(folder, "  ")
        guard let first else { throw CommandError(.failed, "the mounted folder contains no episode") }
        return first
    }

    /// Reads a whole episode while it arrives, prints each tenth, and then the state.
    private func read(_ path: String) async throws {
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        var (count, tenth) = (0, 0)
        do {
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            while let bytes = try file.read(upToCount: 16 << 10), !bytes.isEmpty {
                try Task.checkCancellation()
                count += bytes.count
                guard count * 10 / max(1, size) > tenth else { continue }
                tenth = count * 10 / max(1, size)
                Terminal.print("  \(ProgressBar.text(Double(tenth * 10), width: 20)) \(ByteText.size(Int64(count)))")
            }
        } catch let error as CocoaError {
            let reason = PathResolver.attribute("user.podfs.error", of: path) ?? error.localizedDescription
            throw CommandError(.failed, "\(path): \(reason)")
        }
        // The daemon records the end of the download a moment after its last bytes.
        var state: String?
        for _ in 1...100 where state != TaskState.cached.rawValue {
            if state != nil { await Timers.sleep(for: .milliseconds(100)) }
            state = PathResolver.attribute("user.podfs.state", of: path) ?? "?"
        }
        let sum = PathResolver.attribute("user.podfs.sha256", of: path) ?? "?"
        Terminal.print("Read \(ByteText.size(Int64(count))); state \(state ?? ""), sha256 \(sum.prefix(16))…")
        guard state == TaskState.cached.rawValue else {
            throw CommandError(.failed, "the episode is \(state ?? ""), not cached")
        }
    }
}

/// The folders of `podfs demo`: a temporary folder with all XDG folders, and the mount point.
///
/// The initializer creates the temporary folder, and the mount point if it is missing. It sets the XDG
/// variables in the environment of this process, which the daemon and the mount inherit.
final class DemoHome: Sendable {
    /// The temporary folder.
    let root: String
    /// The mount point.
    let folder: String
    /// At this rate an episode of two megabytes takes about eight seconds, long enough to watch the download.
    private static let configuration = "transfers.rate_limit = \"250 kB/s\"\n"
    /// Whether the initializer has created the mount point, which then has to be removed.
    private let createdFolder: Bool

    init(folder: String?) throws {
        let environment = ProcessInfo.processInfo.environment
        guard let home = environment["HOME"] else { throw CommandError(.failed, "HOME is not set") }
        self.folder = MountPoint.absolute(folder ?? home + "/podfs-demo")
        var template = Array("\(environment["TMPDIR"] ?? "/tmp")/podfs-demo-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw CommandError(.failed, "no temporary folder: \(errnoText())") }
        root = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        createdFolder = access(self.folder, F_OK) != 0 && errno == ENOENT
        do {
            if createdFolder {
                try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
            }
            _ = try MountPoint.prepare(self.folder)
            try FileManager.default.createDirectory(atPath: "\(root)/config/podfs", withIntermediateDirectories: true)
            try Data(Self.configuration.utf8).write(to: URL(fileURLWithPath: "\(root)/config/podfs/config.toml"))
        } catch {
            if createdFolder { rmdir(self.folder) }
            try? FileManager.default.removeItem(atPath: root)
            throw error
        }
        for name in ["DATA", "CACHE", "CONFIG", "STATE"] {
            setenv("XDG_\(name)_HOME", "\(root)/\(name.lowercased())", 1)
        }
        setenv("XDG_RUNTIME_DIR", root + "/run", 1)
    }

    /// Starts the mount's process, and returns when the mount answers.
    func mount() throws {
        try SpawnedSelf.start("mount", ["--", folder], log: Installation().paths.state + "/mount.log")
    }

    /// Stops the mount and the daemon. Removes the temporary folder, and the mount point if the initializer created it.
    ///
    /// - Returns: The paths of the folders that could not be removed.
    func remove() -> [String] {
        if let mounted = MountEntry.at(folder), mounted.isPodfs {
            if case .process(let id) = mounted.answer() { Self.end(mounted.process(id)) }
            if MountEntry.at(folder)?.isPodfs ?? false { try? Unmount.perform(folder, detach: true) }
        }
        if let paths = try? Installation().paths,
            let text = try? String(contentsOfFile: paths.pidFile, encoding: .utf8),
            let daemon = pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines))
        {
            Self.end(ProcessHandle(daemon))
        }
        var left: [String] = []
        if createdFolder, rmdir(folder) != 0, errno != ENOENT { left.append(folder) }
        if (try? FileManager.default.removeItem(atPath: root)) == nil { left.append(root) }
        return left
    }

    /// Asks a process to exit and waits until it has.
    private static func end(_ process: ProcessHandle?) {
        process?.signal(SIGTERM)
        process?.wait()
    }
}
