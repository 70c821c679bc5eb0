internal import ContentCache
package import Fuse
internal import Glibc
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import SystemPackage

// Opening: at once what the mount has, else parked until the daemon has asked for the size; and closing.
extension PodcastFilesystem {
    package func open(_ request: consuming Request, node: NodeID, flags: Int32) {
        guard let number = NodeNumber(node) else {
            request.reply(error: .staleNFSFileHandle)
            return
        }
        let decision: Opening
        do {
            decision = try opening(number, by: request.caller, flags: flags)
        } catch {
            request.reply(error: Self.errno(of: error))
            return
        }
        switch decision {
        case .refuse(let error): request.reply(error: error)
        case .open(let file, let wish):
            if let size = file.sizeToTell, !files.isKnown(size, of: number) {
                let waiting = ParkedRequest(request)
                announce(size, of: number) { [self] in
                    guard let request = waiting.take() else { return }
                    reply(request, file, wish, announced: true)
                }
                return
            }
            reply(request, file, wish)
        case .ask(let guess): askToOpen(number, insteadOf: guess, flags: flags, request)
        case .askForAsset(let kind): askForAsset(kind, number, request)
        }
    }

    private enum Opening {
        case open(OpenFile, HandleMode<BackedFile>.Wish)
        /// The kernel was told a size that no server has confirmed.
        case ask(EpisodeSize)
        /// The daemon knows whether what the cache has of it is good.
        case askForAsset(AssetKind)
        case refuse(Errno)
    }

    private func opening(_ number: NodeNumber, by caller: Caller, flags: Int32) throws -> Opening {
        switch number.kind {
        case .fixed:
            guard let made = FixedFile(rawValue: number.row) else { return .refuse(.staleNFSFileHandle) }
            // Direct I/O: the content is of this moment, whatever size was told before.
            return .open(OpenFile(number: number, content: MadeContent(try render(made))), .direct)
        case .playlist, .page, .feedJSON, .feedXML, .notes, .chapters, .cover, .art, .vtt, .srt:
            if let kind = try assetKind(of: number) {
                return isIndexer(caller.pid) ? .refuse(.permissionDenied) : .askForAsset(kind)
            }
            if refuses(number, to: caller.uid) { return .refuse(.permissionDenied) }
            guard let made = try made(number) else { return .refuse(.staleNFSFileHandle) }
            return .open(OpenFile(number: number, content: made.content), .direct)
        case .show, .search, .term, .foundShow, .gathering, .notesFolder, .chaptersFolder:
            return .refuse(.isDirectory)
        case .latestLink, .downloadedLink:
            return .refuse(.tooManySymbolicLinkLevels)
        case .episode:
            break
        }
        guard let episode = try library.opening(of: number.episode) else { return .refuse(.noSuchFileOrDirectory) }
        guard NodeNumber(kind: .episode, generation: episode.generation, row: number.row) == number else {
            // Another rendition has come since the name was looked up: the caller's open looks again on ESTALE.
            announceReplacement(number.episode)
            return .refuse(.staleNFSFileHandle)
        }
        // What is not subscribed goes with its last reader: the daemon counts them all.
        if !episode.isEphemeral, let file = wholeFile(number, episode, flags: flags) {
            // With O_DIRECT the kernel would hold reads of the cache file to its disk's alignment, which readers of this one
            // need not know. And it would go by that file's size alone.
            return .open(file, file.bypassesCache || episode.size != episode.fileSize ? .cached : .passthrough)
        }
        if isIndexer(caller.pid) { return .refuse(.permissionDenied) }
        if !episode.isEphemeral, episode.size != nil, !episode.isComplete {
            let media = partOfFile(number, episode.file, total: episode.size)
            return .open(OpenFile(number: number, isCounted: false, flags: flags, media: media), .cached)
        }
        return .ask(episode.told)
    }

    /// An episode that the cache has all of: by the file that the kernel reads by itself for others who have it open, else
    /// by the library.
    private func wholeFile(_ number: NodeNumber, _ episode: EpisodeOpening, flags: Int32) -> OpenFile? {
        let media: OpenFile.Media
        if let backed = files.backed(number) {
            media = OpenFile.Media(reader: backed.reader, file: backed.name, total: backed.total, isComplete: true)
        } else {
            // A file that looks otherwise than it did is not served: the daemon sees whether it is good.
            guard episode.isComplete, let name = episode.file, let size = episode.size,
                let reader = try? MediaReader(
                    name: name, in: options.cache,
                    expecting: .recorded(
                        episode.fileState.flatMap(FileState.init(text:)), size: episode.fileSize ?? size))
            else { return nil }
            media = OpenFile.Media(reader: reader, file: name, total: size, isComplete: true)
        }
        return OpenFile(number: number, isCounted: false, flags: flags, media: media)
    }

    /// What is known of an episode that the cache has no more than a part of, or nothing.
    ///
    /// The file is held from now on, when there is one: the kernel answers reads with what it has kept of others', and the
    /// daemon may not remove a file that somebody reads. What is present of it is not of interest: the first read that
    /// comes here has the daemon fetch the rest.
    private func partOfFile(_ number: NodeNumber, _ name: String?, total: Int64?) -> OpenFile.Media {
        let (held, lastName) = files.held(number)
        if let held { return OpenFile.Media(reader: held.reader, file: held.name, total: total) }
        guard let name = name ?? lastName, let reader = try? MediaReader(name: name, in: options.cache) else {
            return OpenFile.Media(total: total)
        }
        return OpenFile.Media(reader: reader, file: name, total: total)
    }

    /// The size is a guess: one request to the server tells, and the first read goes on with its answer.
    private func askToOpen(
        _ number: NodeNumber, insteadOf guess: EpisodeSize, flags: Int32, _ request: consuming Request
    ) {
        let waiting = ParkedRequest(request)
        ask(.open, EpisodeReference(episode: number.episode).payload, for: waiting) { [self] result in
            switch result {
            case .success(let frame):
                guard let grant = Grant(payload: frame.payload) else {
                    waiting.take()?.reply(error: .ioError)
                    return
                }
                opened(number, flags: flags, grant, insteadOf: guess, waiting)
            case .failure(let failure):
                waiting.take()?.reply(error: Self.errno(of: failure))
            }
        }
    }

    /// Opens an asset when the daemon has made sure of it.
    private func askForAsset(_ kind: AssetKind, _ number: NodeNumber, _ request: consuming Request) {
        let waiting = ParkedRequest(request)
        ask(.command, WireJSON.encode(Command.asset(kind, id: number.row)), for: waiting) { [self] result in
            switch result {
            case .success(let frame):
                guard case .asset(let name, _)? = WireJSON.decode(Reply.self, frame.payload),
                    name == kind.fileName(number.row), let content = MadeContent.file(options.assets.appending(name))
                else {
                    waiting.take()?.reply(error: .ioError)
                    return
                }
                let file = OpenFile(number: number, content: content)
                assetTroubles.set(nil, of: number)
                announce(content.size, of: number) { [self] in
                    guard let request = waiting.take() else { return }
                    reply(request, file, number.isArt ? .cached : .direct)
                }
            case .failure(let failure):
                // Before the answer: who is refused looks for the reason.
                assetTroubles.set(failure.message, of: number)
                waiting.take()?.reply(error: Self.errno(of: failure))
            }
        }
    }

    /// - Parameter guess: what was told before the daemon was asked.
    private func opened(
        _ number: NodeNumber, flags: Int32, _ grant: Grant, insteadOf guess: EpisodeSize, _ waiting: ParkedRequest
    ) {
        let generation = NodeNumber(kind: .episode, generation: grant.generation, row: number.row)
        guard generation == number else {
            link.post(.close, EpisodeReference(episode: number.episode).payload)
            announceReplacement(number.episode)
            waiting.take()?.reply(error: .staleNFSFileHandle)
            return
        }
        var media = partOfFile(number, grant.file, total: grant.total)
        if media.reader == nil { media.head = grant.head }
        let file = OpenFile(number: number, isCounted: true, flags: flags, media: media)
        let isNews = grant.total.map { !files.isKnown($0, of: number) } ?? true
        let answer: @Sendable () -> Void = { [self] in
            guard let request = waiting.take() else {
                link.post(.close, EpisodeReference(episode: number.episode).payload)
                return
            }
            reply(request, file, grant.total == nil ? .direct : .cached, announced: isNews)
        }
        // fstat after this open must tell the truth: the kernel forgets the guess before it hears of the success.
        guard let total = grant.total else {
            announce(number.node, then: answer)
            return
        }
        grants.add(total, of: number, insteadOf: guess, now: now)
        // Listings that were begun before have a guess.
        files.note(changeOf: number.episode)
        announce(total, of: number, then: answer)
    }

    /// - Parameter announced: the kernel has just been told that the attributes have changed.
    private func reply(
        _ request: consuming Request, _ file: OpenFile, _ wish: HandleMode<BackedFile>.Wish, announced: Bool = false
    ) {
        // What the kernel believes of the size may be out of date now, and a read would end there as at the end.
        if isStopped.load(ordering: .acquiring) {
            if file.isCounted { link.post(.close, EpisodeReference(episode: file.number.episode).payload) }
            request.reply(error: .operationNotSupportedByDevice)
            return
        }
        // What is opened last is evicted last. An open that the daemon was asked for it knows of.
        let now = now
        if file.number.kind == .episode, !file.isCounted, files.isNews(openOf: file.number.episode, now: now) {
            link.post(.opened, EpisodeReference(episode: file.number.episode).payload)
        }
        let opened = files.add(file, wish, now: now)
        // Told before the open is answered, and only when nobody else has the file open: a reader's question for the size
        // that is under way meanwhile would be asked in vain.
        if opened.hasNewTime, !announced {
            let waiting = ParkedRequest(request)
            announce(file.number.node) { [self] in
                guard let request = waiting.take() else {
                    close(opened.handle)
                    return
                }
                reply(request, file, opened)
            }
            return
        }
        reply(request, file, opened)
    }

    private func reply(_ request: consuming Request, _ file: OpenFile, _ opened: OpenFiles.Opened) {
        var reply = OpenReply(handle: opened.handle, noFlush: true)
        switch opened.way {
        case .cached: reply.keepCache = file.content == nil
        case .direct: reply.directIO = true
        case .passthrough(let backed):
            reply.backing = backed.backing.id
            // Reads that bypass the cache come here all the same.
            reply.directIO = file.bypassesCache
        }
        // Not taken: the caller has gone, and no release will come.
        if !request.reply(open: reply) { close(opened.handle) }
    }

    package func release(_ request: consuming Request, node: NodeID, handle: FileHandle) {
        close(handle)
        request.replyDone()
    }

    private func close(_ handle: FileHandle) {
        guard let (file, hasNewTime) = files.remove(handle, now: now) else { return }
        if file.number.kind != .episode { options.onWork() }
        if hasNewTime, !isStopped.load(ordering: .acquiring) { announce(file.number.node) {} }
        guard file.isCounted else { return }
        let isLater = file.media.withLock { media in
            guard case .beingTold = media.headRead else { return false }
            media.headRead = .beingTold(isClosed: true)
            return true
        }
        if !isLater { tellClose(of: file) }
    }

    /// Of a file whose opens the daemon counts.
    func tellClose(of file: OpenFile) {
        // Its lease on the cache file first: the daemon may remove what nobody has open.
        file.media.withLock { $0.reader = nil }
        link.post(.close, EpisodeReference(episode: file.number.episode).payload)
    }

    // MARK: Indexers

    /// Whether a program that only looks at files asks.
    func isIndexer(_ thread: Int32) -> Bool {
        guard !options.indexers.isEmpty, let program = CallingProgram(thread: thread) else { return false }
        return program.isAmong(options.indexers)
    }
}
