import Foundation
import Glibc
import Synchronization

/// An installation of podfs for one test: its own library, cache, configuration and daemon, in a temporary folder.
///
/// When the last reference is released, its mounts are removed, its children and its daemon are killed by process id,
/// and the folder is removed.
package final class PodfsHome: Sendable {
    package let directory: TemporaryDirectory
    private let owned = Mutex<(children: [ChildProcess], mounts: [MountGuard])>(([], []))
    private let extraEnvironment: [String: String]

    /// - Parameter environment: Variables for every process, in addition to the generated ones.
    package init(environment: [String: String] = [:]) throws {
        directory = try TemporaryDirectory()
        extraEnvironment = environment
        for name in ["home", "data", "cache", "config/podfs", "state", "run"] { try directory.makeDirectory(name) }
    }

    deinit {
        let (children, mounts) = owned.withLock { $0 }
        for mount in mounts { mount.unmount() }
        for child in children { child.kill() }
        killDaemon()
    }

    // MARK: Places

    package var home: String { directory.file("home") }
    package var dataDirectory: String { directory.file("data/podfs") }
    package var cacheDirectory: String { directory.file("cache/podfs") }
    package var stateDirectory: String { directory.file("state/podfs") }
    package var runtimeDirectory: String { directory.file("run/podfs") }
    package var library: String { "\(dataDirectory)/library.sqlite" }
    package var socket: String { "\(runtimeDirectory)/daemon.sock" }

    /// The whole environment of this home's processes. It contains no proxy, locale or desktop settings of the machine.
    package var environment: [String: String] {
        var environment = [
            "HOME": home,
            "XDG_DATA_HOME": directory.file("data"),
            "XDG_CACHE_HOME": directory.file("cache"),
            "XDG_CONFIG_HOME": directory.file("config"),
            "XDG_STATE_HOME": directory.file("state"),
            "XDG_RUNTIME_DIR": directory.file("run"),
            "LANG": "C.UTF-8",
        ]
        // Needed to find programs and libraries, and to configure sanitizers and coverage profiles.
        let handedOn = ["PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS", "LLVM_PROFILE_FILE"]
        for name in handedOn { environment[name] = ProcessInfo.processInfo.environment[name] }
        return environment.merging(extraEnvironment) { _, extra in extra }
    }

    /// Writes the configuration file.
    package func configure(_ toml: String) throws {
        try directory.write("config/podfs/config.toml", text: toml)
    }

    // MARK: Running podfs

    /// The built program: beside the test bundle, unless `PODFS_BINARY` names another.
    package static var executable: String {
        if let path = ProcessInfo.processInfo.environment["PODFS_BINARY"] { return path }
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("podfs").path
    }

    /// Runs `podfs` until it exits.
    @discardableResult
    package func run(
        _ arguments: String..., input: [UInt8] = [], deadline: Duration = .seconds(120)
    ) async throws -> ChildProcess.Result {
        try await run(arguments, input: input, deadline: deadline)
    }

    @discardableResult
    package func run(
        _ arguments: [String], input: [UInt8] = [], deadline: Duration = .seconds(120)
    ) async throws -> ChildProcess.Result {
        try await ChildProcess.run(
            Self.executable, arguments, environment: environment, input: input, deadline: deadline)
    }

    /// Starts `podfs` in the background. It is killed when this home is released.
    package func start(_ arguments: String...) throws -> ChildProcess {
        let child = try ChildProcess(Self.executable, arguments, environment: environment)
        owned.withLock { $0.children.append(child) }
        return child
    }

    /// Creates a folder to mount on. Returns a guard that removes the mount when this home is released. Other programs
    /// may use the mount, but the test process itself must not make system calls on its files that could block.
    package func makeMountPoint(
        _ name: String = "mnt", in namespace: MountNamespace? = nil, deadline: Duration = .seconds(300)
    ) throws -> MountGuard {
        let mount = try MountGuard(directory.makeDirectory(name), in: namespace, deadline: deadline)
        owned.withLock { $0.mounts.append(mount) }
        return mount
    }

    // MARK: The daemon

    /// The process id of this home's daemon; `nil` if it does not run. The id is read from `daemon.pid` in the runtime
    /// folder, and the process must have this home's environment.
    package var daemonProcessIdentifier: Int32? {
        guard let text = try? String(contentsOfFile: "\(runtimeDirectory)/daemon.pid", encoding: .utf8),
            let identifier = Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)), identifier > 1,
            let environment = FileManager.default.contents(atPath: "/proc/\(identifier)/environ")
        else { return nil }
        let own = Array("XDG_RUNTIME_DIR=\(directory.file("run"))".utf8)
        return environment.split(separator: 0).contains { $0.elementsEqual(own) } ? identifier : nil
    }

    /// Kills the daemon, simulating a crash. Does nothing if none runs.
    package func killDaemon(_ signal: Int32 = SIGKILL) {
        if let identifier = daemonProcessIdentifier { kill(identifier, signal) }
    }

    /// Waits until the daemon has exited. It is not a child of the test, so only its process id can be watched.
    package func waitUntilDaemonHasEnded(deadline: Duration = .seconds(120)) async throws {
        try await waitUntil(deadline: deadline, description: "the daemon ends") { daemonProcessIdentifier == nil }
    }
}
