import Foundation
import Fuse
import Glibc
import Platform
import PodcastFilesystem
import PodcastProtocol
import PodcastService
import SystemPackage

/// A mount served by this process.
final class Mount: Sendable {
    private let filesystem: PodcastFilesystem
    private let session: Session

    /// The number of threads that serve requests. None waits for the network, so more threads would only contend.
    private static let threads = 4

    init(
        _ installation: Installation, _ configuration: Configuration, at path: String, options: MountOptions
    ) throws {
        let library = try installation.library() ?? installation.libraryOfDaemon()
        // The files belong to the mounting user unless the options set another owner.
        let uid = try options.uid.map { try Account(user: $0).uid } ?? getuid()
        let gid = try options.gid.map { try Account.group($0) } ?? getgid()
        var filesystemOptions = PodcastFilesystem.Options(
            owner: (uid, gid), cache: FilePath(installation.paths.cache), cacheLimit: configuration.storage.capacity,
            feeds: FilePath(installation.paths.feeds), assets: FilePath(installation.paths.assets),
            indexers: Set(configuration.indexers), mounter: getuid())
        filesystemOptions.findIndex = FilePath(installation.paths.findIndex)
        filesystemOptions.probes =
            switch options.probe {
            case .none: .listed([])
            case .list: .listed(Set(configuration.probes))
            case .all: .all
            }
        filesystemOptions.hasTagged = configuration.hasTaggedFolder
        filesystemOptions.shareBase = configuration.shareBase
        let trimmer = HeapTrimmer()
        filesystemOptions.onWork = { trimmer.recordWork() }
        filesystem = PodcastFilesystem(
            library: library, options: filesystemOptions, link: DaemonLink(launcher: installation.launcher))
        var named = options
        (named.fsname, named.subtype) = (options.fsname ?? "podfs", options.subtype ?? "podfs")
        session = try Session(
            operations: filesystem, options: named, backingFolder: options.passthrough ? installation.paths.cache : nil)
        if configuration.mpris {
            filesystem.watchPlayers(
                PlayerWatch.Options(
                    folder: path, address: { SessionBus.address(ProcessInfo.processInfo.environment) },
                    resumes: configuration.resumes))
        }
        try session.mount(at: path)
    }

    /// Serves requests until this or another process unmounts the folder. On SIGTERM, SIGINT or SIGHUP, this process
    /// unmounts it. SIGUSR1 fails all requests that wait for the network, so that programs can close their files.
    ///
    /// - Parameter ready: Called once the mount answers requests.
    func run(ready: @escaping @Sendable () -> Void) throws {
        signal(SIGPIPE, SIG_IGN)
        let sources = [SIGTERM, SIGINT, SIGHUP].map { number in
            signalSource(number) { [self] in
                filesystem.stop()
                try? session.unmount()
            }
        }
        let failReads = signalSource(SIGUSR1) { [self] in filesystem.failParked() }
        filesystem.onReady { [self] in
            filesystem.start(
                notifier: session.invalidator, backings: session.backingFiles, startsDaemon: true)
            ready()
            ProgramPages.releaseStart()
        }
        defer {
            filesystem.stop()
            for source in sources + [failReads] { source.cancel() }
        }
        try session.run(threads: Self.threads)
    }
}
