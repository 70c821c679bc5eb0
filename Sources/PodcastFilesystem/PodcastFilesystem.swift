package import Fuse
internal import Glibc
internal import Platform
package import PodcastLibrary
package import PodcastProtocol
internal import Synchronization
package import SystemPackage
internal import TransferCore

/// The folder of podcasts: answers the kernel's requests from the library, the cache and what the daemon says.
///
/// No thread waits here for the network. What needs it is parked with the daemon's answer as its continuation; everything
/// else is answered on the thread that asks, from files of this machine.
package final class PodcastFilesystem: Sendable {
    package struct Options: Sendable {
        package var owner: Owner
        /// Who serves the mount, where files show another owner: this user may control it as well.
        package var mounter: UInt32?
        /// The folder of cache files.
        package var cache: FilePath
        /// What the cache may hold, in bytes; `df` shows it.
        package var cacheLimit: Int64
        /// The folder where the daemon keeps the feeds' documents.
        package var feeds: FilePath
        /// The folder where it keeps art, transcripts and chapters.
        package var assets: FilePath
        /// Programs that are refused what is not cached, by the name of their executable.
        package var indexers: Set<String>
        /// Called after an event of the daemon, and after a request that may have taken much memory: a folder's listing, the
        /// content of a generated file.
        package var onWork: @Sendable () -> Void = {}

        package init(
            owner: Owner, cache: FilePath, cacheLimit: Int64, feeds: FilePath, assets: FilePath,
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

    let library: Library
    let options: Options
    let link: DaemonLink
    let live = LiveTasks()
    let files = OpenFiles()
    let grants = GrantedSizes()
    let assetTroubles = AssetTroubles()
    let lastListing = LastListing()
    let kernelListings = KernelListings()
    let parked = ParkedReads()
    let terms = SearchTerms()
    let gatherings = GatheringRecord()
    private let notifier = Mutex<(any ChangeNotifier)?>(nil)
    /// When the library was last known to be in step with what the kernel remembers.
    private let heard = Mutex<Int64>(0)
    /// The moment of the last event of each show.
    private let heardOfShows = Mutex<[ShowID: Int64]>([:])
    /// The mount is going: the kernel may not be told of changes any more, so that no open may be granted.
    let isStopped = Atomic<Bool>(false)
    /// Until when nothing is parked, in milliseconds of `milliseconds`.
    let refusesUntil = Atomic<Int64>(0)
    /// The list of the subscriptions as it was last rendered, and when it became so.
    let subscriptionsPage = Mutex<(bytes: [UInt8], moment: Int64)?>(nil)
    private let readyAction = Mutex<(@Sendable () -> Void)?>(nil)
    let started = Int64(time(nil))

    /// How long the kernel believes names and attributes, in seconds: changes are told to it.
    static let timeout: Double = 86_400

    package init(library: Library, options: Options, link: DaemonLink) {
        self.library = library
        self.options = options
        self.link = link
    }

    /// What to do when the kernel has agreed to the mount, before it asks for anything else. Set before the session runs.
    package func onReady(_ action: @escaping @Sendable () -> Void) { readyAction.withLock { $0 = action } }

    package func initialize(_ connection: Connection) {
        let action = readyAction.withLock { action in
            defer { action = nil }
            return action
        }
        action?()
    }

    /// Begins to follow the daemon, and to tell `notifier` of what changes.
    ///
    /// - Parameter backings: where the kernel takes files to read by itself.
    package func start(notifier: any ChangeNotifier, backings: (any BackingFileTaker)? = nil, startsDaemon: Bool) {
        self.notifier.withLock { $0 = notifier }
        files.giveBackings(to: backings)
        heard.withLock { $0 = now }
        link.start(
            observer: DaemonLink.Observer(
                event: { [weak self] in self?.take($0) }, connected: { [weak self] in self?.connected($0) },
                disconnected: { [weak self] in self?.disconnected() }),
            startsDaemon: startsDaemon)
    }

    /// Answers everything that is parked, so that nothing holds up the unmounting.
    package func stop() {
        isStopped.store(true, ordering: .releasing)
        failParked()
        link.end()
    }

    /// Answers every parked request with EIO, and for a second all that would be parked: the kernel asks once more for
    /// each page that it could not have.
    package func failParked() {
        refusesUntil.store(SystemClock.monotonic.milliseconds + Self.retryWindow, ordering: .releasing)
        for read in parked.takeAll() {
            link.cancel(read.token)
            read.request.take()?.reply(error: .ioError)
        }
    }

    func mayControl(_ uid: UInt32) -> Bool { uid == options.owner.uid || uid == options.mounter }

    var now: Int64 { Int64(time(nil)) }

    /// How soon after a failure the kernel's second try comes, at the latest: it is made by the reader that has just been
    /// woken. In milliseconds of `SystemClock.monotonic`.
    static let retryWindow: Int64 = 1_000

    // MARK: The tree

    func attributes(of entry: EpisodeEntry) -> EpisodeAttributes {
        EpisodeAttributes(
            grants.ahead(entry), live: live.task(of: entry.id), accessed: files.accessed(entry.id))
    }

    func entry(_ episode: EpisodeAttributes) -> Entry {
        files.tell(episode.size, of: episode.number)
        return Entry(
            node: episode.number.node, attributes: episode.attributes(owner: options.owner),
            attributeTimeout: Self.timeout, entryTimeout: Self.timeout)
    }

    func entry(show id: ShowID, modified: Int64, changed: Int64) -> Entry {
        folderEntry(NodeNumber(kind: .show, row: id), modified: modified, changed: changed)
    }

    func folderAttributes(_ number: NodeNumber, modified: Int64, changed: Int64) -> Attributes {
        Attributes(
            inode: number.inode, kind: .directory, permissions: 0o555, links: 2, size: 4096, blocks: 8,
            uid: options.owner.uid, gid: options.owner.gid, accessed: Timestamp(seconds: changed),
            modified: Timestamp(seconds: modified), changed: Timestamp(seconds: changed))
    }

    func rootAttributes() -> Attributes { folderAttributes(.root, modified: started, changed: started) }

    // MARK: What the daemon says

    private func take(_ event: Event) {
        defer { options.onWork() }
        heard.withLock { $0 = now }
        live.take(event)
        files.noteChange()
        guard let notifier = notifier.withLock({ $0 }) else { return }
        // Progress, which is told many times, changes no name.
        if event.kind != .progress { dropListings(notifier) }
        if event.kind == .library || event.kind == .completed { refreshGatherings() }
        if let episode = event.id {
            // A show's page tells what is cached.
            let changesPage = event.kind == .library || event.kind == .completed
            guard let place = try? library.place(of: episode) else { return }
            tell(notifier, place, nameToo: event.kind == .library)
            if event.kind == .library {
                if let name = event.formerName { tell(notifier, name, isGoneFrom: place.podcast) }
                announceMadeFiles(ofShow: place.podcast)
            }
            if changesPage { announcePage(ofShow: place.podcast) }
        } else if let podcast = event.podcast {
            // New names need no word: absent ones are not remembered. Renamed and removed ones do.
            for name in [event.formerName, event.path] {
                if let name { notifier.invalidateEntry(parent: .root, name: name, then: nil) }
            }
            tellOfEpisodes(notifier, of: podcast, at: event.time)
            for folder in folders(of: podcast) { notifier.invalidateAttributes(folder.node, then: nil) }
            announceMadeFiles(ofShow: podcast)
            announcePage(ofShow: podcast)
            notifier.invalidateAttributes(.root, then: nil)
        }
    }

    private func tell(_ notifier: any ChangeNotifier, _ place: Library.EpisodePlace, nameToo: Bool) {
        let number = NodeNumber(kind: .episode, generation: place.generation, row: place.id)
        files.note(changeOf: place.id)
        if grants.isPending(number), let entry = try? library.entry(id: place.id), entry.sizeSource == .server,
            grants.settle(entry)
        {
            // The size that an open was answered with has been written down.
        } else if !files.isUnasked(number) {
            // Counted when it is done: a listing that was made before has told the kernel in vain.
            notifier.invalidateAttributes(number.node) { [kernelListings] in kernelListings.forgetAttributes() }
        }
        if place.isBuried {
            tell(notifier, place.name, isGoneFrom: place.podcast)
        } else if nameToo, place.generation > 1 {
            // The name may lead to a node of an older generation.
            for folder in folders(of: place.podcast) {
                notifier.invalidateEntry(parent: folder.node, name: place.name, then: nil)
            }
        }
    }

    /// A refresh changes many episodes and is told as one event.
    private func tellOfEpisodes(_ notifier: any ChangeNotifier, of podcast: ShowID, at moment: Int64) {
        // What has changed since the last event of the show: the daemon tells of a change after it is made, and of one
        // show's changes in their order.
        let since = heardOfShows.withLock { moments in
            defer { moments[podcast] = moment }
            return moments[podcast] ?? started - 1
        }
        for place in (try? library.places(of: podcast, changedSince: since)) ?? [] {
            tell(notifier, place, nameToo: true)
            tell(notifier, sidecarsOf: place.name, of: podcast)
        }
    }

    /// No episode has this name any more.
    private func tell(_ notifier: any ChangeNotifier, _ name: String, isGoneFrom podcast: ShowID) {
        for folder in folders(of: podcast) {
            notifier.invalidateEntry(parent: folder.node, name: name, then: nil)
        }
        tell(notifier, sidecarsOf: name, of: podcast)
    }

    /// What lies beside an episode may have become another file, or none.
    private func tell(_ notifier: any ChangeNotifier, sidecarsOf name: String, of podcast: ShowID) {
        for (folder, name) in Self.sidecarNames(ofEpisode: name) {
            notifier.invalidateEntry(parent: NodeNumber(kind: folder, row: podcast).node, name: name, then: nil)
        }
    }

    private func connected(_ tasks: [TaskInfo]) {
        live.replace(with: tasks)
        files.noteChange()
        let since = heard.withLock { moment in
            defer { moment = now }
            return moment
        }
        guard let notifier = notifier.withLock({ $0 }), since > 0 else { return }
        dropListings(notifier)
        // A second of overlap: the library's moments are whole seconds.
        var shows: Set<ShowID> = []
        for place in (try? library.places(changedSince: since - 1)) ?? [] {
            tell(notifier, place, nameToo: true)
            tell(notifier, sidecarsOf: place.name, of: place.podcast)
            shows.insert(place.podcast)
        }
        for folder in (try? library.folders()) ?? [] where folder.changed >= since - 1 {
            notifier.invalidateEntry(parent: .root, name: folder.name, then: nil)
            announceMadeFiles(ofShow: folder.id)
            shows.insert(folder.id)
        }
        for show in shows.sorted() { announcePage(ofShow: show) }
        refreshGatherings()
        notifier.invalidateAttributes(.root, then: nil)
    }

    /// A folder that is open shows what has changed when it is rewound.
    private func dropListings(_ notifier: any ChangeNotifier) {
        for folder in kernelListings.change() { notifier.invalidateData(folder, then: nil) }
    }

    func dropListing(_ folder: NodeID) { notifier.withLock { $0 }?.invalidateData(folder, then: nil) }

    private func disconnected() { live.replace(with: []) }

    /// Tells the kernel that an episode's attributes have changed, and then does `next`.
    func announce(_ node: NodeID, then next: @escaping @Sendable () -> Void) {
        guard let notifier = notifier.withLock({ $0 }) else {
            next()
            return
        }
        notifier.invalidateAttributesNow(node, then: next)
    }

    /// Makes the kernel ask for the size of an episode, once, and then does `next`.
    ///
    /// Once, although many may open it at the same time: the kernel throws away the answer to a question for attributes
    /// when it is told meanwhile that they have changed, and would go on with the size that it had.
    func announce(_ size: Int64, of number: NodeNumber, then next: @escaping @Sendable () -> Void) {
        switch files.awaitSize(size, of: number, then: next) {
        case .isKnown: next()
        case .isAwaited: break
        case .isNews:
            announce(number.node) { [self] in
                for waiting in files.setKnown(size, of: number) { waiting() }
            }
        }
    }

    /// The name of an episode leads to another node now.
    func announceReplacement(_ episode: EpisodeID) {
        guard let notifier = notifier.withLock({ $0 }), let place = try? library.place(of: episode) else { return }
        for folder in folders(of: place.podcast) {
            notifier.invalidateEntry(parent: folder.node, name: place.name, then: nil)
        }
    }

    func announce(_ gathering: Gathering, _ changes: GatheringRecord.Changes) {
        guard let notifier = notifier.withLock({ $0 }) else { return }
        for name in changes.gone { notifier.invalidateEntry(parent: gathering.number.node, name: name, then: nil) }
        for link in changes.changed { notifier.invalidateAttributes(link.node, then: nil) }
        notifier.invalidateAttributes(gathering.number.node, then: nil)
    }

    /// What is made of a show's rows may be another text now.
    private func announceMadeFiles(ofShow podcast: ShowID) {
        guard let notifier = notifier.withLock({ $0 }) else { return }
        // The folders of sidecars have the show's time.
        for kind in [NodeNumber.Kind.playlist, .notesFolder, .chaptersFolder] {
            notifier.invalidateAttributes(NodeNumber(kind: kind, row: podcast).node, then: nil)
        }
    }

    private func announcePage(ofShow podcast: ShowID) {
        let number = NodeNumber(kind: .page, row: podcast)
        notifier.withLock { $0 }?.invalidateAttributes(number.node, then: nil)
    }

    /// Where a show's episodes lie: in its own folder, and in those of the terms that it was found by.
    private func folders(of podcast: ShowID) -> [NodeNumber] {
        [NodeNumber(kind: .show, row: podcast)] + terms.folders(of: podcast)
    }

    /// The kernel is to ask for a name below `.search` again, and may forget what it led to.
    func announceRemoval(ofTerm name: String) {
        notifier.withLock { $0 }?.invalidateEntry(parent: NodeNumber.search.node, name: name, then: nil)
    }
}

extension Library {
    /// The downloads and uploads that are to be carried on, as the library knows them when no daemon runs.
    package func outstandingTasks() throws -> [TaskInfo] {
        let uploads = try uploads().map { upload in
            TaskInfo(
                id: upload.id, kind: .upload, path: upload.title, episode: nil,
                state: upload.state,
                received: upload.progress.held, expected: upload.size, rate: nil, error: upload.error,
                started: upload.created)
        }
        let downloads: [TaskInfo] = try downloads().compactMap { download in
            guard let episode = try episode(id: download.episode), let podcast = try podcast(id: episode.podcast) else {
                return nil
            }
            return TaskInfo(
                id: download.id, kind: .download, path: podcast.name + "/" + episode.name, episode: episode.id,
                state: download.state,
                received: episode.cachedBytes, expected: episode.confirmedSize ?? episode.length, rate: nil,
                error: download.error, started: download.created)
        }
        return uploads + downloads
    }
}
