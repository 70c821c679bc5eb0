internal import Foundation
internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

/// The run of the daemon process, from acquiring its locks to its clean exit.
package enum Daemon {
    /// The reason, in one line, why the daemon cannot start or use a file, such as that another daemon serves a folder
    /// of this installation.
    package struct Problem: Error, CustomStringConvertible {
        package var description: String
    }

    /// Serves until the idle time has passed, a client asks it to exit, or SIGTERM or SIGINT arrives.
    ///
    /// - Parameter ready: Called once, when clients can connect.
    /// - Throws: `Problem` if another daemon serves the data or cache folder; other errors that prevent the start.
    package static func run(_ configuration: ServiceConfiguration, ready: @Sendable () -> Void) async throws {
        let paths = configuration.paths
        for folder in paths.folders {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        // One lock per folder: another installation may share only one of the two folders, and neither folder may have
        // two writers.
        let locks = try [paths.data, paths.cache].map { folder in
            guard let lock = try FolderLock(folder: folder) else {
                throw Problem(description: "another daemon already serves \(folder)")
            }
            return lock
        }
        let (ends, finish) = AsyncStream<Void>.makeStream()
        signal(SIGPIPE, SIG_IGN)
        let signals = [SIGTERM, SIGINT].map { signalSource($0) { finish.yield() } }
        defer { for source in signals { source.cancel() } }
        let marker = StartMarker(path: paths.startMarker)
        let (library, recovery) = try Library.openForWriting(
            at: paths.library, backup: paths.libraryBackup, isSuspect: marker.begin() >= 2,
            canRebuild: (try? SubscriptionsCopy.read(paths.subscriptionsCopy))?.isEmpty == false, now: Int64(time(nil)))
        let service = try await PodcastService(
            configuration: configuration, library: library, recovery: recovery
        ) { finish.yield() }
        do {
            try await service.start()
        } catch let error as LibraryError {
            // The check at opening missed this damage. Count this start as two failed ones, so that the next
            // daemon checks the whole library.
            if case .damaged = error { marker.begin() }
            throw error
        }
        let inherited = try SocketActivation.inheritedListener(at: paths.socket)
        let server =
            try inherited.map { SocketServer(listener: $0, handler: service.handler) }
            ?? SocketServer(path: paths.socket, handler: service.handler)
        try Data("\(getpid())\n".utf8).write(to: URL(fileURLWithPath: paths.pidFile), options: .atomic)
        server.start()
        marker.remove()
        ready()
        for await _ in ends { break }
        server.stop()
        await service.stop()
        do {
            try library.checkpoint()
        } catch {
            Logger(label: "podfs.daemon").error("the library's write-ahead log was not checkpointed: \(error)")
        }
        unlink(paths.pidFile)
        withExtendedLifetime(locks) {}
    }
}

/// The number of consecutive failed starts of the daemon, stored as the size of a file.
///
/// A start has failed if the daemon did not become ready. When the daemon is ready, it removes the file. Corrupt data
/// in the library may crash the daemon, so the whole library is checked after two failed starts.
struct StartMarker {
    let path: String

    /// Records a start.
    ///
    /// - Returns: the number of earlier failed starts; 0 if it cannot be determined.
    @discardableResult
    func begin() -> Int {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        let size = lseek(descriptor, 0, SEEK_END)
        _ = write(descriptor, ".", 1)
        return max(0, Int(size))
    }

    /// Records that the daemon is ready.
    func remove() { unlink(path) }
}
