internal import Fuse
internal import Glibc
internal import Platform
package import PodcastLibrary
internal import Synchronization
package import SystemPackage
internal import Transfers

/// The podcast filesystem: answers the kernel's requests from the library, the cache and the daemon's events.
///
/// No thread waits for the network. Requests that need it are parked until the daemon responds. All others are answered
/// from local files on the calling thread, except that some opens are parked until the kernel's cached attributes are
/// invalidated.
package final class PodcastFilesystem: Sendable {
    /// The settings of a mount.
    package struct Options: Sendable {
        /// The user and group that the files belong to.
        package var owner: (uid: UInt32, gid: UInt32)
        /// The user as whom the mount's process runs. This user has the same rights as the owner of the files.
        package var mounter: UInt32?
        /// The folder of cache files.
        package var cache: FilePath
        /// The limit of the cache in bytes; `df` shows it.
        package var cacheLimit: Int64
        /// The folder in which the daemon stores feed documents.
        package var feeds: FilePath
        /// The folder in which the daemon stores art, transcripts and chapters.
        package var assets: FilePath
        /// The search index, which the daemon writes.
        package var findIndex = FilePath("")
        /// The executable names of programs whose opens must not use the network. They may open completely cached
        /// episodes and generated files.
        package var indexers: Set<String>
        /// Programs whose reads of uncached episodes fetch only the ranges that they read.
        package var probes = Probes.listed([])
        /// The URL under which a web server shares the mounted folder, without a slash at its end; `nil` if none does.
        package var shareBase: String?
        /// Whether the mount has a folder of tagged files.
        package var hasTagged = false
        /// Called after events of the daemon, and after the close of a folder or a generated file, so that the process
        /// can return freed memory to the system.
        package var onWork: @Sendable () -> Void = {}

        package init(
            owner: (uid: UInt32, gid: UInt32), cache: FilePath, cacheLimit: Int64, feeds: FilePath, assets: FilePath,
            indexers: Set<String>, mounter: UInt32? = nil
        ) {
            self.owner = owner
            self.mounter = mounter
            self.cache = cache
            self.cacheLimit = cacheLimit
            self.feeds = feeds
            self.assets = assets
            self.indexers = indexers
        }
    }

    /// The state of the kernel's caches, and the open files, under one lock.
    struct State: Sendable {
        var kernel = KernelCache()
        var files = OpenFiles()
    }

    let library: Library
    let options: Options
    let link: DaemonLink
    let findIndex: FindIndex
    let live = LiveTasks()
    let parked = ParkedRequests()
    let assetFailures = AssetFailures()
    /// The calls on files in the archive, whose disk may be dead.
    let archive = StallingQueue(name: "podfs-archive", deadline: .seconds(5))
    let subscriptions = SubscriptionsRendering()
    let state = Mutex(State())
    /// The object that sends invalidations to the kernel, and the registry of files that the kernel reads by itself
    /// (passthrough). `nil` before `start`.
    let kernelLink = Mutex<(notifier: any ChangeNotifier, backings: (any BackingFileRegistry)?)?>(nil)
    let eventTimes = Mutex(EventTimes())
    /// The names that the shows' folders had at the start, or when the connection to a daemon was last lost. When a
    /// daemon is connected again, those that no folder has any more are invalidated. Empty while a daemon is connected.
    let lastFolderNames = Mutex<Set<String>>([])
    /// The watch of media players on the session bus; `nil` if there is none.
    let players = Mutex<PlayerWatch?>(nil)
    private let readyAction = Mutex<(@Sendable () -> Void)?>(nil)
    /// The time at which the mount was created, in seconds of Unix time.
    let started = Int64(time(nil))

    package init(library: Library, options: Options, link: DaemonLink) {
        self.library = library
        self.options = options
        self.link = link
        findIndex = FindIndex(path: options.findIndex.string)
    }

    /// Sets an action to run when the kernel has negotiated the session, before it sends any other request. Call before
    /// the session runs.
    package func onReady(_ action: @escaping @Sendable () -> Void) { readyAction.withLock { $0 = action } }

    package func initialize() {
        let action = readyAction.withLock { $0.take() }
        action?()
    }

    /// Starts following the daemon's events and sending invalidations to `notifier`.
    ///
    /// - Parameter backings: The registry of files for passthrough; `nil` without passthrough.
    package func start(notifier: any ChangeNotifier, backings: (any BackingFileRegistry)? = nil, startsDaemon: Bool) {
        kernelLink.withLock { $0 = (notifier, backings) }
        eventTimes.withLock { $0.moment = now }
        recordFolderNames()
        link.start(
            observer: DaemonLink.Observer(
                event: { [weak self] in self?.handle($0) }, connected: { [weak self] in self?.connected($0) },
                disconnected: { [weak self] in self?.disconnected() }),
            startsDaemon: startsDaemon)
    }

    /// Prepares for the unmount: fails all parked requests, which would delay it, stops the watch of players, and
    /// closes the connection to the daemon. Later opens fail.
    package func stop() {
        players.withLock { $0 }?.stop()
        parked.stop()
        failParked()
        link.close()
    }

    /// Fails every parked request with EIO, and for one second also every read that would otherwise be parked, since
    /// the kernel requests each failed page once more.
    package func failParked() {
        for read in parked.removeAll() {
            link.cancel(read.token)
            read.request.take()?.reply(error: .ioError)
        }
    }

    /// Whether a user is the owner of the files or the user as whom the mount's process runs. These two may set control
    /// attributes, and open files that may contain secrets.
    func mayControl(_ uid: UInt32) -> Bool { uid == options.owner.uid || uid == options.mounter }

    /// The current time in seconds of Unix time.
    var now: Int64 { Int64(time(nil)) }
}
