package import Fuse
internal import Glibc
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import SystemPackage
internal import Transfers

/// The next step of an open.
enum Opening {
    case open(OpenFile, HandleMode.Preference)
    /// The daemon must open the episode: no server has confirmed its size, its show is not subscribed, or its complete
    /// cache file is unusable. The size is the one in the library, which the kernel may have cached.
    case requestOpen(EpisodeSize, ReaderKind)
    /// The complete file is in the archive, whose disk may be dead, so it is opened on the archive's thread.
    case openArchived(ArchivedOpening)
    /// The daemon must check whether the cached asset (artwork, a transcript or chapters) is current, or check the URL
    /// of a stream.
    case requestAsset(AssetKind, HandleMode.Preference)
    /// The file is in the folder `Tagged`. It consists of a tag that podfs generates, followed by the audio of an
    /// episode. The value is the next step of an open of that episode.
    indirect case tag(Opening)
}

// Opens and closes. An open is answered immediately if possible. Otherwise it is parked until the daemon has responded
// and the attributes that the kernel has cached for the file are invalidated.
extension PodcastFilesystem {
    package func open(_ request: consuming Request, node: NodeID, flags: Int32) {
        do {
            guard let number = NodeNumber(node) else { throw Errno.staleNFSFileHandle }
            switch try behaviour(of: number).opening(by: request.caller, flags: flags) {
            case .open(let file, let preference):
                if let size = sizeToPush(file) {
                    pushAndOpen(ParkedRequest(request), file, preference, size: size)
                } else {
                    reply(request, file, preference)
                }
            case .requestOpen(let shownSize, let kind):
                requestOpen(number, as: kind, replacing: shownSize, flags: flags, request)
            case .openArchived(let opening): openArchived(opening, request)
            case .requestAsset(let kind, let preference): requestAsset(kind, number, preference, request)
            case .tag(let original): openTagged(number, original, flags: flags, request)
            }
        } catch {
            request.reply(error: Self.errno(of: error))
        }
    }

    /// Returns the size to push to the kernel before the open is answered, so that fstat(2) returns it; `nil` if the
    /// size is unknown or constant, or if the kernel requests it for each fstat(2).
    private func sizeToPush(_ file: OpenFile) -> Int64? {
        guard behaviour(of: file.number).form.pushesSize else { return nil }
        return file.content?.size ?? file.media.withLock { $0.total }
    }

    /// Answers an open once the kernel has the size, or once its cached attributes are invalidated, so that the next
    /// fstat(2) requests the size. If the open was interrupted meanwhile, notifies the daemon of the close.
    ///
    /// - Parameter size: `nil` if the size is unknown; the attributes are then invalidated.
    func pushAndOpen(_ waiting: ParkedRequest, _ file: OpenFile, _ preference: HandleMode.Preference, size: Int64?) {
        let answer: @Sendable (Bool) -> Void = { [self] isInvalidated in
            if let request = waiting.take() {
                reply(request, file, preference, isInvalidated: isInvalidated)
            } else if file.isCounted {
                notifyClose(of: file)
            }
        }
        if let size { push(size, of: file.number, then: answer) } else { invalidate(file.number) { answer(true) } }
    }

    /// Returns the media of an episode without a usable complete file: its cache file, if there is one, and its size.
    ///
    /// The result's reader has a lease on the cache file (a shared lock), so that the daemon does not remove a file
    /// that a program reads. A lease from the first read on would be too late, because the kernel may answer all reads
    /// from pages that it cached for other handles, and then no read arrives here. The ranges that the file contains
    /// are not loaded yet, because the daemon's response to the first read that arrives here lists them.
    func partialMedia(_ number: NodeNumber, _ name: String?, total: Int64?) -> OpenFile.Media {
        if let leased = state.withLock({ $0.files.nodes[number]?.leased }) {
            return OpenFile.Media(reader: leased.reader, file: leased.name, total: total)
        }
        guard let name, let reader = try? MediaReader(name: name, in: options.cache) else {
            return OpenFile.Media(total: total)
        }
        return OpenFile.Media(reader: reader, file: name, total: total)
    }

    /// Parks an open until the daemon has opened the episode. If the daemon needs an HTTP request to confirm the size,
    /// the response to that request also provides the bytes for the first read.
    private func requestOpen(
        _ number: NodeNumber, as kind: ReaderKind, replacing shownSize: EpisodeSize, flags: Int32,
        _ request: consuming Request
    ) {
        let waiting = ParkedRequest(request)
        send(.open, ReadRequest(episode: number.episode, kind: kind).payload, for: waiting) { [self] result in
            waiting.answerError {
                opened(number, as: kind, flags: flags, try result.grant(), replacing: shownSize, waiting)
            }
        }
    }

    /// Parks an open until the daemon has checked the asset or stream. If the check of a chapter file fails, the open
    /// gets the chapters from the feed, the show notes or the cached media file, if there are any.
    private func requestAsset(
        _ kind: AssetKind, _ number: NodeNumber, _ preference: HandleMode.Preference, _ request: consuming Request
    ) {
        let waiting = ParkedRequest(request)
        send(.command, WireJSON.encode(Command.asset(kind, id: number.row)), for: waiting) { [self] result in
            waiting.answerError {
                let content: GeneratedContent
                if case .failure(let failure) = result {
                    // The reason is set before the reply, since a program may read it (the extended attribute
                    // `user.podfs.error`) as soon as its open fails.
                    assetFailures.set(failure.message, of: number)
                    let chapters = kind == .chapters ? ChaptersFile(place: NodePlace(node: number, mount: self)) : nil
                    guard let known = try? chapters?.contentWithoutServer() else { throw failure }
                    content = known
                } else {
                    guard case .asset(let name, _) = try result.reply(), name == kind.fileName(number.row),
                        let fetched = kind == .stream
                            ? streamContent(of: number) : GeneratedContent.file(options.assets.appending(name))
                    else { throw Errno.ioError }
                    assetFailures.set(nil, of: number)
                    content = fetched
                }
                pushAndOpen(waiting, OpenFile(number: number, content: content), preference, size: content.size)
            }
        }
    }

    /// Answers a parked open according to the daemon's grant (its response, with the size and the name of the cache
    /// file if they are known), after the kernel's attributes have been invalidated. Replies ESTALE if the grant is for
    /// another generation (version of the episode's media) than the node.
    ///
    /// - Parameter shownSize: The size that programs saw before the daemon's response.
    private func opened(
        _ number: NodeNumber, as kind: ReaderKind, flags: Int32, _ grant: Grant, replacing shownSize: EpisodeSize,
        _ waiting: ParkedRequest
    ) {
        let generation = NodeNumber(kind: .episode, generation: grant.generation, row: number.row)
        guard generation == number else {
            link.post(.close, WireJSON.encode(number.episode))
            invalidateName(ofEpisode: number.episode)
            waiting.take()?.reply(error: .staleNFSFileHandle)
            return
        }
        let file = openFile(number, as: kind, flags: flags, grant)
        if let total = grant.total {
            let now = now
            state.withLock { state in
                state.kernel.grants.add(total, of: number, replacing: shownSize, now: now)
                // Listings that were started before this change contain the former size, and must not be trusted.
                state.kernel.changes.add(number.episode)
            }
        }
        pushAndOpen(waiting, file, grant.total == nil ? .direct : .cached, size: grant.total)
    }

    /// Returns the open file for an open that the daemon has granted.
    func openFile(_ number: NodeNumber, as kind: ReaderKind, flags: Int32, _ grant: Grant) -> OpenFile {
        var media = partialMedia(number, grant.file, total: grant.total)
        if media.reader == nil { media.head = grant.head }
        if kind == .probe { media.probing = ProbeReads(openedAt: SystemClock.monotonic.now) }
        return OpenFile(number: number, isCounted: true, flags: flags, media: media)
    }

    /// Adds a handle and answers the open with it. If the access time that the kernel has cached is outdated,
    /// the cached attributes may be invalidated first.
    ///
    /// - Parameter isInvalidated: Whether the kernel's attributes were invalidated just before.
    func reply(
        _ request: consuming Request, _ file: OpenFile, _ preference: HandleMode.Preference, isInvalidated: Bool = false
    ) {
        // During an unmount, invalidations no longer reach the kernel. The size that it has cached may therefore be
        // outdated, and reads would end at that size.
        if parked.isStopped {
            if file.isCounted { link.post(.close, WireJSON.encode(file.number.episode)) }
            return request.reply(error: .operationNotSupportedByDevice)
        }
        let now = now
        let added = state.withLock { add(file, preference, at: now, &$0) }
        reportOpen(of: file)
        // The daemon evicts the least recently opened episode first. It already knows of the opens to which it has
        // responded.
        if added.notifiesDaemon { link.post(.opened, WireJSON.encode(file.number.episode)) }
        // The attributes are invalidated before the reply, and only if no other handle is open. If another handle is
        // open, the kernel may be waiting for the size, and it would discard the attributes in a reply that arrives
        // after the invalidation.
        if added.needsInvalidation, !isInvalidated {
            let waiting = ParkedRequest(request)
            invalidate(file.number) { [self] in
                guard let request = waiting.take() else { return close(added.handle) }
                reply(request, file, added.handle, added.mode)
            }
            return
        }
        reply(request, file, added.handle, added.mode)
    }

    /// Adds a handle. The filesystem treats it as open from now on, even before the reply to its open is sent, until
    /// `close`.
    ///
    /// - Returns: Also whether the kernel's attributes must be invalidated before the reply, since the access time has
    ///   changed, and whether the daemon must be notified of the open.
    private func add(
        _ file: OpenFile, _ preference: HandleMode.Preference, at now: Int64, _ state: inout State
    ) -> (handle: FileHandle, mode: HandleMode.IOMode, needsInvalidation: Bool, notifiesDaemon: Bool) {
        let number = file.number
        let notifiesDaemon =
            file.isEpisode && !file.isCounted && file.media.withLock { $0.probing == nil }
            && state.kernel.accessTimes.report(openOf: number.episode, at: now)
        let needsInvalidation = state.kernel.access(number, at: now)
        let handle = state.files.add(file)
        // The backing file is registered in the same critical section in which the handle is added, so that no
        // concurrent open chooses another mode or registers another backing file.
        var backed: BackedFile?
        let mode = state.kernel.open(number, preference) {
            backed = BackedFile(file, kernelLink.withLock { $0?.backings })
            return backed?.backing.id
        }
        if backed != nil { state.files.nodes[number]?.backed = backed }
        return (handle, mode, needsInvalidation, notifiesDaemon)
    }

    private func reply(
        _ request: consuming Request, _ file: OpenFile, _ handle: FileHandle, _ mode: HandleMode.IOMode
    ) {
        var reply = OpenReply(handle: handle)
        reply.noFlush = true
        switch mode {
        case .cached: reply.keepCache = file.content == nil
        case .direct: reply.directIO = true
        case .passthrough(let backing):
            reply.backing = backing
            // With O_DIRECT the reads are sent here, not to the backing file.
            reply.directIO = file.bypassesCache
        }
        // If the kernel rejects the reply, the caller was interrupted, and no release will follow.
        if !request.reply(open: reply) { close(handle) }
    }

    package func release(_ request: consuming Request, node: NodeID, handle: FileHandle) {
        close(handle)
        request.replyDone()
    }

    private func close(_ handle: FileHandle) {
        guard let (file, needsInvalidation) = remove(handle) else { return }
        if file.number.kind != .episode { options.onWork() }
        if needsInvalidation, !parked.isStopped { invalidate(file.number) {} }
        guard file.isCounted else { return }
        let isDeferred = file.media.withLock { media in
            guard case .pending = media.headNotification else { return false }
            media.headNotification = .pending(isClosed: true)
            return true
        }
        if !isDeferred { notifyClose(of: file) }
    }

    /// Removes a handle. With the last handle of a node, also removes the lease on the node's cache file.
    ///
    /// - Returns: The file, and whether to invalidate the kernel's attributes; `nil` if there is no such handle.
    private func remove(_ handle: FileHandle) -> (file: OpenFile, needsInvalidation: Bool)? {
        let now = now
        // The files that the node's handles share are released outside the critical section: dropping the last
        // reference to a file closes it.
        let removed = state.withLock { state -> (file: OpenFile, needsInvalidation: Bool, shared: OpenFiles.Node?)? in
            guard let file = state.files.remove(handle) else { return nil }
            let isCachedNow = state.kernel.close(file.number)
            let isAccessChanged = state.kernel.access(file.number, at: now)
            let shared = state.kernel.isOpen(file.number) ? nil : state.files.nodes.removeValue(forKey: file.number)
            return (file, isCachedNow || isAccessChanged, shared)
        }
        if let removed { reportClose(of: removed.file) }
        return removed.map { ($0.file, $0.needsInvalidation) }
    }

    /// Notifies the daemon that a file was closed. Call only if the daemon counts the opens of the file (`isCounted`).
    func notifyClose(of file: OpenFile) {
        // The lease is released first, because the daemon may remove the file once it has been notified of the close.
        file.media.withLock { $0.reader = nil }
        link.post(.close, WireJSON.encode(file.number.episode))
    }
}

// Episodes that are streams. The file of such an episode is a playlist with the stream's URL.
extension PodcastFilesystem {
    /// Returns the next step of an open of a stream's playlist, which is to ask the daemon to check the stream's URL.
    /// Throws EACCES if the caller may not open the playlist.
    func openingOfStream(_ node: NodeNumber, by caller: Caller) throws -> Opening {
        if isIndexer(caller.pid) { throw Errno.permissionDenied }
        // The URL in the playlist may contain a secret of the user who owns the mount.
        if !mayControl(caller.uid), caller.uid != 0, let episode = try library.episode(id: node.episode),
            try library.podcast(id: episode.podcast)?.hasCredentials ?? false
        {
            throw Errno.permissionDenied
        }
        return .requestAsset(.stream, .direct)
    }

    func streamContent(of node: NodeNumber) -> GeneratedContent? {
        guard let episode = try? library.episode(id: node.episode), episode.isStream else { return nil }
        return GeneratedContent(episode.streamContent)
    }
}
