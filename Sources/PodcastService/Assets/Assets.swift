internal import Foundation
internal import Logging
internal import Platform
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

/// Artwork, transcripts and chapters, which are fetched when a program opens them, and then cached.
@ServiceActor
final class Assets: ServicePart {
    nonisolated let driver: CoreDriver
    let store: AssetStore
    /// Running fetches, by the asset's file name.
    private var fetches: [String: Task<Int64, any Error>] = [:]
    /// Failed fetches, by the asset's file name. They are not retried before `until`.
    private var failures: [String: (failure: Failure, url: String, until: Instant)] = [:]
    /// The times before which cached assets are not revalidated. The key is an origin if its server has failed, and a
    /// URL after any other failure.
    private var revalidationPauses: [String: Instant] = [:]
    /// Streams whose playlists were checked, by the asset's file name. They are not checked again before `until`.
    private var streams: [String: (url: String, until: Instant)] = [:]
    /// The total sizes in the cache; `nil` until they are known.
    private var totals: AssetStore.Totals?
    private var isTidying = false
    private var isStopping = false

    init(_ driver: CoreDriver) {
        self.driver = driver
        store = AssetStore(folder: driver.context.configuration.paths.assets)
    }

    /// Age above which a cached asset is revalidated.
    private static let assetFreshness = Duration.seconds(7 * 86_400)
    /// Time for which a failure is cached, the same as for media.
    private static let failureLifetime = Duration.seconds(60)
    /// Time for which cached assets are served without revalidation after a failure. A program that reads a folder of
    /// artwork must not wait for a failing server once per file.
    private static let revalidationPause = Duration.seconds(600)
    /// Maximum sizes of artwork and of text in bytes. Show artwork is typically a few hundred kilobytes, the transcript
    /// of a long episode one megabyte.
    private static let largestArt = 10 << 20
    private static let largestText = 16 << 20
    /// Timeouts of a fetch; a reader is waiting.
    private static let assetTimeout = Duration.seconds(60)
    private static let streamTimeout = Duration.seconds(30)
    /// The time for which a checked stream is not checked again. It is short, because a live stream may end at any
    /// time.
    private static let streamFreshness = Duration.seconds(60)

    /// Starts to look which assets there are, and removes the unfinished files of the previous daemon.
    func start() { tidy() }

    /// Makes failures from now on count for nothing: they say nothing about the servers.
    func stop() { isStopping = true }

    /// Ensures that an asset is in the cache. Cached art is served at once, and an outdated one is replaced afterwards:
    /// a browser reads the images of a page one after another.
    func asset(_ kind: AssetKind, _ id: Int64) async throws -> Reply {
        let name = kind.fileName(id)
        guard let source = try assetSource(kind, id) else {
            throw Failure(errorNumber: ENODATA, message: "the feed does not list it, or no longer does")
        }
        if let checked = streams[name], checked.url == source.url, checked.until > uptime {
            return .asset(file: name, size: 0)
        }
        let stored = store.record(name)
        let known = stored.flatMap { $0.url == source.url ? $0 : nil }
        let hasFailed = failures[name].map { $0.url == source.url && $0.until > uptime } ?? false
        let isCurrent = known.map { isFresh($0) || isRevalidationPaused(of: source.url) } ?? false
        // A former cover is better than none while the server of the new one is slow.
        if let usable = isCurrent || kind == .art ? known : kind == .cover ? stored : nil {
            if !isCurrent, !hasFailed { _ = fetch(kind, name, source, known) }
            store.touch(name)
            return .asset(file: name, size: usable.size)
        }
        if hasFailed, let past = failures[name] { throw past.failure }
        let size = try await fetch(kind, name, source, known).value
        // After a 304, or a failure for which an outdated copy is served, the file is not new: mark it as used.
        store.touch(name)
        return .asset(file: name, size: size)
    }

    /// Fetches a show's cover, and records in the library whether it is cached. Throws only if that fails.
    func fetchCover(of show: ShowID) async throws {
        let name = AssetKind.cover.fileName(show.rawValue)
        guard let source = try assetSource(.cover, show.rawValue) else { return }
        let known = store.record(name).flatMap { $0.url == source.url ? $0 : nil }
        if let known, isFresh(known), let format = known.imageExtension {
            return try library.record(cover: format, from: source.url, of: show, isNew: false, now: now())
        }
        do {
            _ = try await fetch(.cover, name, source, known).value
        } catch is Failure {
            // It is recorded, and the cover is due later, or no more.
        }
    }

    private func isFresh(_ record: AssetStore.Record) -> Bool {
        record.checked <= now() && record.checked > now() - Self.assetFreshness.seconds
    }

    /// Returns the running fetch of an asset, or starts one.
    private func fetch(
        _ kind: AssetKind, _ name: String, _ source: AssetSource, _ known: AssetStore.Record?
    ) -> Task<Int64, any Error> {
        if let running = fetches[name] { return running }
        let task = startTask { [self] in
            defer { fetches[name] = nil }
            return try await fetchAsset(kind, name, source, known)
        }
        fetches[name] = task
        return task
    }

    /// Reads the total sizes, and removes what exceeds the capacity.
    private func tidy(keeping kept: String? = nil) {
        if isTidying { return }
        isTidying = true
        driver.startWork { [self] in
            let (totals, removed) = await store.tidy(keeping: kept)
            self.totals = totals
            isTidying = false
            if removed.isEmpty { return }
            // After the library has changed, from which mounts then read.
            defer { driver.report(.changedText) }
            let prefix = AssetKind.cover.rawValue + "-"
            let covers = removed.filter { $0.hasPrefix(prefix) }.compactMap { Int64($0.dropFirst(prefix.count)) }
            try library.forgetCovers(of: covers.map { ShowID($0) }, now: now())
        }
    }

    private func isRevalidationPaused(of url: String) -> Bool {
        [WebAddress.origin(of: url), url].contains { key in
            key.flatMap { revalidationPauses[$0] }.map { $0 > uptime } ?? false
        }
    }

    private struct AssetSource {
        var url: String
        var podcast: ShowID
        /// The path shown by `.status`.
        var path: String
    }

    private func assetSource(_ kind: AssetKind, _ id: Int64) throws -> AssetSource? {
        if kind == .cover {
            guard let show = try library.podcast(id: ShowID(id)), let url = show.image, let name = show.coverName
            else { return nil }
            return AssetSource(url: url, podcast: show.id, path: "\(show.name)/\(name)")
        }
        guard let episode = try library.episode(id: EpisodeID(id)), let show = try library.podcast(id: episode.podcast)
        else { return nil }
        let url: String?
        switch kind {
        case .cover, .art: url = episode.image
        case .vtt: url = try library.extras(of: episode.id).transcripts.forVTT?.url
        case .srt: url = try library.extras(of: episode.id).transcripts.first { $0.kind == .srt }?.url
        case .chapters: url = try library.extras(of: episode.id).chaptersURL
        case .stream: url = episode.isStream ? episode.url : nil
        }
        let fileExtension = kind == .art ? "jpg" : kind == .chapters ? "json" : kind.rawValue
        return url.map {
            AssetSource(
                url: $0, podcast: show.id, path: "\(show.name)/\(FileName.stem(ofFile: episode.name)).\(fileExtension)")
        }
    }

    /// - Returns: the size in bytes.
    private func fetchAsset(
        _ kind: AssetKind, _ name: String, _ source: AssetSource, _ known: AssetStore.Record?
    ) async throws -> Int64 {
        let isArt = kind == .cover || kind == .art
        let task = kind == .stream ? nil : driver.beginFetch(path: source.path, kind: isArt ? .artwork : .transcript)
        defer { if let task { driver.finishFetch(task) } }
        do {
            if let problem = WebAddress.problem(with: source.url) {
                throw TransferError(.unusable, "its address \(problem)")
            }
            var request = DataRequest(url: source.url, limit: isArt ? Self.largestArt : Self.largestText)
            request.timeout = Self.assetTimeout
            request.userAgent = settings(of: source.podcast).userAgent
            if let access = try library.showAccess(of: source.podcast) {
                request.reach = access.linkReach
                request.credentials = credentials(of: source.podcast, access)
            }
            if kind == .stream {
                try await checkStream(request)
                streams = streams.filter { $0.value.until > uptime }
                streams[name] = (source.url, uptime + Self.streamFreshness)
                failures[name] = nil
                return 0
            }
            if let etag = known?.etag { request.fields.append(("If-None-Match", etag)) }
            if let date = known?.lastModified { request.fields.append(("If-Modified-Since", date)) }
            let (record, isNew) = try await receive(request, kind, name, known)
            failures[name] = nil
            if kind == .cover, let format = record.imageExtension {
                try library.record(cover: format, from: source.url, of: source.podcast, isNew: isNew, now: now())
                if let show = try library.podcast(id: source.podcast) {
                    driver.changed(podcast: show.id, name: show.name)
                } else {
                    store.remove(name)
                }
            }
            return record.size
        } catch {
            let transferError = error as? TransferError
            // No answer, 429 or 5xx: a failure of the server, and not only of one asset.
            let isServers = transferError.map { [.unreachable, .timedOut, .failed].contains($0.code) } ?? false
            if kind == .cover, !isStopping {
                // After any other failure, the cover is fetched when a program opens it, or its address changes.
                let isPassing = isServers || transferError.map { $0.code == .diskFull } ?? true
                let due = isPassing ? now() + Library.coverPause.seconds : nil
                try library.coverFailed(of: source.podcast, from: source.url, due: due)
            }
            // After any failure, serve an outdated copy rather than none.
            if let known {
                let key = isServers ? WebAddress.origin(of: source.url) : nil
                revalidationPauses = revalidationPauses.filter { $0.value > uptime }
                revalidationPauses[key ?? source.url] = uptime + Self.revalidationPause
                return known.size
            }
            let isFull = (error as? POSIXError)?.code == .ENOSPC
            let failure =
                transferError?.failure
                ?? Failure(errorNumber: isFull ? ENOSPC : EIO, message: error.localizedDescription)
            log.warning("\(source.path): \(failure.message)")
            failures = failures.filter { $0.value.until > uptime }
            failures[name] = (failure, source.url, uptime + Self.failureLifetime)
            throw failure
        }
    }

    /// Checks the playlist of a stream. The file of the episode is a playlist with the stream's address, which the
    /// mount generates. If there is nothing to play, the open fails with the reason. The check also ensures that no
    /// player is directed to an address that podfs itself would not request.
    private func checkStream(_ request: DataRequest) async throws {
        var request = request
        request.limit = StreamPlaylist.largest
        request.timeout = Self.streamTimeout
        let (head, body) = try await engine.response(to: request)
        guard head.status == 200 else { throw TransferError(status: head.status) }
        let reach = configuration.transfers.network.reach
        try StreamPlaylist(base: head.url ?? request.url, reach: reach, space: head.space).check(body)
    }

    /// - Returns: the asset's record, and whether the server has sent the asset, instead of confirming the cached one.
    private func receive(
        _ request: DataRequest, _ kind: AssetKind, _ name: String, _ known: AssetStore.Record?
    ) async throws -> (record: AssetStore.Record, isNew: Bool) {
        guard let file = store.begin() else { throw TransferError(.failed, "the cache cannot be written") }
        var head: ResponseHead?
        var beginning: [UInt8] = []
        var size: Int64 = 0
        // A transcript is converted to WebVTT when it is complete.
        var transcript: [UInt8] = []
        func append(_ bytes: [UInt8]) {
            size += Int64(bytes.count)
            file.append(bytes)
        }
        for try await event in engine.data(for: request) {
            switch event {
            case .head(let found):
                if found.status == 200, found.contentLength ?? 0 > request.limit {
                    throw TransferError(.unusable, "the answer is larger than \(request.limit) bytes")
                }
                head = found
            case .bytes(let bytes):
                guard head?.status == 200 else { continue }
                beginning += bytes.prefix(max(0, 512 - beginning.count))
                if kind == .vtt { transcript += bytes } else { append(bytes) }
            }
        }
        guard let head else { throw TransferError(.failed, "no answer") }
        var record = AssetStore.Record(
            url: request.url, etag: head["etag"], lastModified: head["last-modified"], checked: now(), size: 0)
        if head.status == 304, var known {
            known.checked = now()
            try store.write(known, of: name)
            return (known, false)
        }
        if head.status != 200 { throw TransferError(status: head.status) }
        record.imageExtension = AssetContent.imageExtension(beginning)
        guard AssetContent.fits(kind, beginning) else {
            throw TransferError(.unusable, "the server sent something else (\(head["content-type"] ?? "of no type"))")
        }
        if kind == .vtt {
            guard let text = TranscriptConverter.webVTT(transcript, contentType: head["content-type"]) else {
                throw TransferError(.unusable, "the transcript contains no text with times")
            }
            append(text)
        }
        record.size = size
        let replaced = store.record(name)?.size ?? 0
        try store.replace(name, by: file, record)
        totals?[kind] += size - replaced
        if totals?.exceedCapacity ?? false { tidy(keeping: name) }
        if kind == .vtt || kind == .srt { driver.report(.changedText) }
        return (record, true)
    }
}

extension [Transcript] {
    /// The transcript to offer as WebVTT: one in that format, else the one that loses least by a conversion.
    var forVTT: Transcript? {
        let json = first { $0.kind == .transcript && !($0.type?.contains("html") ?? $0.url.contains(".htm")) }
        return first { $0.kind == .vtt } ?? json ?? first { $0.kind == .srt } ?? first { $0.kind == .transcript }
    }
}

/// The detection of content by its first bytes.
enum AssetContent {
    static func fits(_ kind: AssetKind, _ bytes: [UInt8]) -> Bool {
        switch kind {
        case .cover, .art: imageExtension(bytes) != nil
        // The converter checks the format.
        case .vtt: !bytes.isEmpty
        case .srt: !bytes.isEmpty && !DocumentStart.isMarkup(bytes)
        case .chapters: DocumentStart.text(bytes).first == UInt8(ascii: "{")
        case .stream: false
        }
    }

    /// Returns the usual file extension for JPEG, PNG, GIF, WebP, AVIF, HEIC or BMP, by signature, whatever media type
    /// the server states; `nil` for other content. Of the ISO base media files, which include MP4, only those with the
    /// brand of an image count.
    static func imageExtension(_ bytes: [UInt8]) -> String? {
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "jpg" }
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) { return "png" }
        if bytes.starts(with: Array("GIF8".utf8)) { return "gif" }
        if bytes.starts(with: Array("BM".utf8)) { return "bmp" }
        if bytes.starts(with: Array("RIFF".utf8)), bytes.dropFirst(8).starts(with: Array("WEBP".utf8)) { return "webp" }
        guard bytes.dropFirst(4).starts(with: Array("ftyp".utf8)) else { return nil }
        return imageBrands[String(decoding: bytes.dropFirst(8).prefix(4), as: UTF8.self)]
    }

    /// The major brands of AVIF and HEIF files.
    private static let imageBrands = [
        "avif": "avif", "avis": "avif", "heic": "heic", "heix": "heic", "heim": "heic", "heis": "heic",
        "hevc": "heic", "hevx": "heic", "mif1": "heic", "mif2": "heic", "msf1": "heic",
    ]

    /// Returns whether the bytes are an image, including SVG, which may be published but is not accepted from feeds.
    static func isPicture(_ bytes: [UInt8]) -> Bool {
        imageExtension(bytes) != nil || DocumentStart.isMarkup(bytes) && bytes.firstRange(of: Array("<svg".utf8)) != nil
    }
}
