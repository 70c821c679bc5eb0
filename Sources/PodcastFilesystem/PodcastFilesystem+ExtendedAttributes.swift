internal import ContentCache
package import Fuse
internal import Glibc
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import SystemPackage
internal import TransferCore

// Extended attributes: facts to read, and the control of tasks.
extension PodcastFilesystem {
    package func getxattr(_ request: consuming Request, node: NodeID, name: String, capacity: Int) {
        do {
            guard let number = NodeNumber(node) else { throw Errno.staleNFSFileHandle }
            if number == .root, name == Self.processAttribute {
                request.reply(value: "\(getpid())", capacity: capacity)
                return
            }
            // Access lists, labels and capabilities are asked for by `ls -l` and by the kernel itself. That the filesystem has
            // none at all is remembered by ls(1), which asks for every file otherwise.
            guard name.hasPrefix("user.") else { throw Errno.notSupported }
            guard let value = try attributes(number).first(where: { $0.0 == name })?.1 else {
                request.reply(error: .noData)
                return
            }
            request.reply(value: value, capacity: capacity)
        } catch {
            request.reply(error: Self.errno(of: error))
        }
    }

    package func listxattr(_ request: consuming Request, node: NodeID, capacity: Int) {
        do {
            guard let number = NodeNumber(node) else { throw Errno.staleNFSFileHandle }
            request.reply(attributeNames: try attributes(number).map(\.0), capacity: capacity)
        } catch {
            request.reply(error: Self.errno(of: error))
        }
    }

    /// On the root, not listed: the process that serves the mount, for `podfs unmount`.
    package static let processAttribute = "user.podfs.mount.pid"

    private func attributes(_ number: NodeNumber) throws -> [(String, String)] {
        switch number.kind {
        case .show, .foundShow: try showAttributes(number.show)
        case .episode: try episodeAttributes(number)
        case .cover, .art, .vtt, .srt, .chapters:
            assetTroubles.reason(of: number).map { [("user.podfs.error", PlainText.oneLine($0))] } ?? []
        default: []
        }
    }

    // MARK: Episodes

    private func episodeAttributes(_ number: NodeNumber) throws -> [(String, String)] {
        guard let episode = try library.episode(id: number.episode).map(grants.ahead),
            let podcast = try library.podcast(id: episode.podcast)
        else { throw Errno.staleNFSFileHandle }
        let task = episode.complete ? nil : live.task(of: episode.id)
        var values = AttributeList()
        values.add("user.podfs.id", episode.id)
        values.add("user.podfs.generation", episode.generation)
        addState(of: episode, task, to: &values)
        values.add("user.podfs.size_source", episode.size.source.rawValue)
        values.add("user.podfs.sha256", episode.complete ? episode.sha256 : nil)
        values.add("user.podfs.guid", episode.guid)
        values.add("user.podfs.season", episode.season)
        values.add("user.podfs.episode", episode.episode.map(Self.decimal))
        values.add("user.podfs.episode_type", episode.episodeType)
        values.add("user.podfs.duration", episode.duration.map(Self.decimal))
        values.add("user.podfs.played", episode.played ? "1" : "0")
        values.add("user.podfs.position", episode.position.map(Self.decimal))
        values.add("user.xdg.origin.url", podcast.visible(episode.url))
        values.add("user.xdg.referrer.url", podcast.visibleURL)
        values.add(
            "user.mime_type",
            MediaType.told(type: episode.type, fileExtension: FileName.fileExtension(of: episode.name)))
        values.add("user.dublincore.title", episode.title)
        values.add("user.dublincore.creator", episode.author ?? podcast.author)
        values.add("user.dublincore.publisher", podcast.title)
        values.add("user.dublincore.date", episode.published.map(TimeText.iso8601))
        values.add("user.dublincore.description", episode.notes)
        values.add("user.dublincore.identifier", episode.guid)
        values.add("user.dublincore.language", podcast.language)
        return values.items
    }

    private func addState(of episode: Episode, _ task: LiveTasks.Task?, to values: inout AttributeList) {
        let size = episode.size
        let trouble = live.trouble(of: episode.id)
        // A task that goes on has the last error of its own, or none any more.
        let error =
            task.map { $0.info.state == .failed ? $0.info.error ?? episode.download?.error : $0.info.error }
            ?? trouble?.error ?? episode.download?.error
        let received = episode.complete ? size.bytes : max(task?.info.received ?? 0, episode.cachedBytes)
        let expected = task?.info.expected ?? (size.source == .unknown ? nil : size.bytes)
        let state: TaskState
        if episode.complete {
            state = .cached
        } else if let task {
            state = task.info.state
        } else if error != nil {
            state = trouble?.isFinal == false ? .remote : .failed
        } else if let download = episode.download {
            state = download.state
        } else {
            state = .remote
        }
        values.add("user.podfs.state", state.rawValue)
        values.add("user.podfs.progress", Self.percent(received, of: expected, complete: episode.complete))
        values.add("user.podfs.bytes_received", received)
        values.add("user.podfs.bytes_expected", expected)
        values.add("user.podfs.ranges", ranges(of: episode, task))
        if state == .running {
            values.add("user.podfs.rate", task?.info.rate.map(WholeNumber.of))
            if let rate = task?.info.rate, rate > 0, let expected, expected >= received {
                let rest = Double(expected) - Double(received)
                values.add("user.podfs.eta", WholeNumber.of((rest / rate).rounded(.up)))
            }
        }
        // Also of a download that is tried again, that waits for space, or that a full disk has suspended.
        if state != .cached { values.add("user.podfs.error", error.map(PlainText.oneLine)) }
    }

    private func ranges(of episode: Episode, _ task: LiveTasks.Task?) -> String? {
        if episode.complete { return episode.size.bytes > 0 ? "0-\(episode.size.bytes - 1)" : "" }
        if let ranges = task?.ranges, task?.generation == episode.generation { return ranges }
        guard episode.cachedBytes > 0, let rendition = try? library.rendition(of: episode.id),
            let checkpoint = ContentCache.checkpoint(of: rendition.file, in: options.cache)
        else { return "" }
        return checkpoint.receivedRanges.text
    }

    /// With one decimal, cut off: `100.0` is said of a whole file alone.
    private static func percent(_ received: Int64, of expected: Int64?, complete: Bool) -> String {
        if complete { return "100.0" }
        guard let expected, expected > 0 else { return "0.0" }
        let tenths = min(999, max(0, WholeNumber.of(Double(received) * 1_000 / Double(expected))))
        return "\(tenths / 10).\(tenths % 10)"
    }

    private static func decimal(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
    }

    // MARK: Shows

    private func showAttributes(_ id: ShowID) throws -> [(String, String)] {
        guard let podcast = try library.podcast(id: id) else { throw Errno.staleNFSFileHandle }
        var values = AttributeList()
        values.add("user.podfs.feed.state", podcast.state)
        values.add("user.podfs.feed.error", podcast.error.map(PlainText.oneLine))
        values.add("user.podfs.feed.http_status", podcast.httpStatus)
        values.add("user.podfs.feed.last_refresh", podcast.lastRefresh.map(TimeText.iso8601))
        values.add("user.podfs.feed.next_refresh", podcast.nextRefresh.map(TimeText.iso8601))
        values.add("user.podfs.feed.episodes", podcast.episodes)
        values.add("user.podfs.feed.cached", podcast.cached)
        values.add("user.podfs.feed.guid", podcast.guid)
        values.add("user.xdg.origin.url", podcast.visibleURL)
        values.add("user.dublincore.title", podcast.title)
        values.add("user.dublincore.creator", podcast.author)
        values.add("user.dublincore.description", podcast.description)
        values.add("user.dublincore.identifier", podcast.guid)
        values.add("user.dublincore.language", podcast.language)
        return values.items
    }

    // MARK: Control

    package func setxattr(
        _ request: consuming Request, node: NodeID, name: String, value: UnsafeRawBufferPointer, flags: Int32
    ) {
        let names = ["user.podfs.task", "user.podfs.played", "user.podfs.position"]
        guard names.contains(name) else {
            request.reply(error: .readOnlyFileSystem)
            return
        }
        guard mayControl(request.caller.uid) else {
            request.reply(error: .notPermitted)
            return
        }
        let text = String(decoding: value, as: UTF8.self).trimmed
        do {
            guard let number = NodeNumber(node), let command = try command(name, text, number) else {
                request.reply(error: .invalidArgument)
                return
            }
            let waiting = ParkedRequest(request)
            ask(.command, WireJSON.encode(command), for: waiting) { result in
                guard let request = waiting.take() else { return }
                Self.answer(request, result)
            }
        } catch {
            request.reply(error: Self.errno(of: error))
        }
    }

    private static func answer(_ request: consuming Request, _ result: Result<Frame, Failure>) {
        switch result {
        case .success(let frame):
            // Never a silent success: what could not be done is an error.
            switch WireJSON.decode(Reply.self, frame.payload) {
            case .acted(count: 0, let problems) where !problems.isEmpty: request.reply(error: .resourceBusy)
            case .refreshed(let results) where results.allSatisfy({ $0.error != nil }): request.reply(error: .ioError)
            case nil: request.reply(error: .ioError)
            default: request.replyDone()
            }
        case .failure(let failure):
            request.reply(error: errno(of: failure))
        }
    }

    /// - Returns: `nil` when the value means nothing.
    private func command(_ name: String, _ value: String, _ number: NodeNumber) throws -> Command? {
        switch (name, number.kind) {
        case ("user.podfs.task", .episode):
            return Self.action(value).map { .act($0, episodes: [number.episode]) }
        case ("user.podfs.task", _) where number.kind == .show || number.kind == .foundShow || number == .root:
            let podcast = number == .root ? nil : number.show
            if value == "refresh", number.kind == .foundShow { return .fetchShow(podcast: number.show) }
            if value == "refresh" { return .refresh(podcasts: podcast.map { [$0] } ?? []) }
            return try Self.action(value).map {
                .act($0, episodes: try library.episodes(of: podcast, for: $0))
            }
        case ("user.podfs.played", .episode):
            guard value == "0" || value == "1" else { return nil }
            return .setPlayed(episode: number.episode, value == "1")
        case ("user.podfs.position", .episode):
            guard let seconds = Double(value), (0...Double(SyncedState.longest)).contains(seconds) else { return nil }
            return .setPosition(episode: number.episode, seconds: seconds)
        default:
            return nil
        }
    }

    private static func action(_ value: String) -> TaskAction? {
        TaskAction(rawValue: value).flatMap { $0 == .download ? nil : $0 }
    }
}

/// Attributes in the order in which they are listed; absent facts are left out.
private struct AttributeList {
    var items: [(String, String)] = []

    mutating func add(_ name: String, _ value: (some CustomStringConvertible)?) {
        guard let value else { return }
        // A value has at most 64 KiB (xattr(7)); show notes may be longer and are cut at a character.
        var text = value.description
        if text.utf8.count > 65_536 {
            text = String(decoding: text.utf8.prefix(65_536 - 4), as: UTF8.self)
            while text.last == "\u{FFFD}" { text.removeLast() }
        }
        while text.last?.isNewline == true { text.removeLast() }
        items.append((name, text))
    }
}

extension String {
    /// Without white space at its ends: `echo 1 |` and shells add line feeds.
    fileprivate var trimmed: String {
        var rest = Substring(self)
        while rest.first?.isWhitespace == true { rest.removeFirst() }
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return String(rest)
    }
}
