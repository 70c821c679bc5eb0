import Foundation
import TestSupport

/// The expected state of one episode and its file, with which a model test compares the mount.
struct ModelEpisode: Sendable {
    /// The transfer state of the episode.
    enum Phase: Sendable, Equatable {
        /// No transfer. A cancelled task may have left a part in the cache.
        case remote
        /// A transfer that completes unless something intervenes.
        case moving
        /// A transfer suspended by a person.
        case suspended
        case cached
        /// The server has refused the file.
        case refused
    }

    /// The row's number.
    let id: Int64
    var name: String
    /// The item as of the last refresh.
    var item: ModelItem
    var phase = Phase.remote
    /// The size confirmed by a server.
    var confirmed: Int?
    /// Whether `confirmed` is the size of a file that the feed has replaced. The size is valid until an eviction.
    var forgetsSize = false
    /// The content of the complete cache file.
    var cached: TestContent?
    /// The possible numbers of received bytes.
    var received = 0...0
    /// Whether the transfer is known to run. It is unknown, for example, after a read that the kernel may have served
    /// from its page cache: such a read starts no transfer.
    var isSure = true
    /// Whether a moving episode may still be suspended: a read of a suspended episode fetches only the bytes read.
    var maySuspend = false
    /// Whether a moving episode may have a task. An episode that was opened in the folder `Tagged` (whose files have a
    /// tag made by podfs) has none, though all its bytes may arrive.
    var hasTask = true
    /// Whether podfs may have forgotten the failure of a refused episode, as after a restart of the mount or of the
    /// daemon.
    var mayBeForgotten = false
    /// Whether a cache file may exist, empty or partial.
    var mayHaveFile = false
    /// The possible generations; narrowed when one is observed.
    var generation = 1...1
    var isPlayed = false
    var position: Double?
    var isPinned = false
    /// The time of the first refresh with this episode, in seconds.
    let firstSeen: ClosedRange<Int64>
    var hasTranscriptCached = false
    var hasArtCached = false
    /// The file in `Tagged` as of its last open.
    var tagged: Tagged?

    struct Tagged: Sendable {
        /// The size in bytes, with the tag.
        var size: Int
        /// The possible generations of the original.
        var generation: ClosedRange<Int>
    }

    var stem: String { String(name[..<(name.lastIndex(of: ".") ?? name.endIndex)]) }

    /// The bytes that a read must return.
    var content: TestContent { phase == .cached ? cached ?? item.content : item.content }

    /// The sizes that stat(2) may return. During a transfer it returns the server's size if the response has arrived,
    /// otherwise the size of `item.claim`.
    var sizes: Set<Int> {
        if let confirmed { return [confirmed] }
        if phase == .moving || phase == .suspended && mayHaveFile { return [item.claim.size, item.size] }
        return [item.claim.size]
    }

    /// Whether the file in `Tagged` has a tag made by podfs. Files there without one are the episodes themselves.
    var hasTag: Bool { item.kind == .audio }

    /// The sizes that stat(2) may return in `Tagged`. As long as the file has the generation of its last open, this is
    /// the size at that open. Otherwise it is an estimate: the size of the episode, and 256 KiB for the tag.
    var taggedSizes: Set<Int> {
        let estimates = Set(sizes.map { $0 > 0 ? $0 + 256 << 10 : 0 })
        guard let tagged, tagged.generation.overlaps(generation) else { return estimates }
        let isSure = tagged.generation.count == 1 && tagged.generation == generation
        return isSure ? [tagged.size] : estimates.union([tagged.size])
    }

    var states: Set<String> {
        switch phase {
        case .remote: ["remote"]
        case .moving where !hasTask: [maySuspend ? "suspended" : "remote", "cached"]
        case .moving:
            maySuspend ? ["suspended", "queued", "running", "cached"] : ["remote", "queued", "running", "cached"]
        case .suspended: ["suspended"]
        case .cached: ["cached"]
        case .refused: mayBeForgotten ? ["failed", "remote"] : ["failed"]
        }
    }

    var modified: ClosedRange<Int64> { item.published.map { $0...$0 } ?? firstSeen }

    /// Starts a transfer of the whole file.
    mutating func becomeMoving() {
        phase = .moving
        isSure = true
        hasTask = true
        maySuspend = false
        received = 0...content.size
        mayHaveFile = true
    }

    mutating func becomeCached() {
        phase = .cached
        maySuspend = false
        cached = item.content
        confirmed = item.size
        forgetsSize = false
        received = item.size...item.size
        mayHaveFile = true
    }

    /// Records an open in `Tagged`. The open reads the start of the original without a task: one block of 64 KiB. All
    /// bytes may arrive if no size was confirmed before, or if the daemon knows of a player that has the original open.
    ///
    /// - Parameter size: The size of the open file.
    mutating func becomeTagged(size: Int, isOpenElsewhere: Bool) {
        let isLimited = confirmed != nil && !isOpenElsewhere && content.size > Self.block
        confirmed = confirmed ?? content.size
        tagged = Tagged(size: size, generation: generation)
        guard phase != .cached else { return }
        mayHaveFile = true
        if isLimited {
            received = received.lowerBound...max(received.upperBound, Self.block)
        } else if phase == .remote || phase == .suspended {
            let wasSuspended = phase == .suspended
            becomeMoving()
            (isSure, hasTask, maySuspend) = (false, false, wasSuspended)
        }
    }

    /// The size in bytes of the blocks in which podfs reads a file without a task.
    private static let block = 64 << 10

    /// Removes all cached bytes.
    mutating func becomeEvicted() {
        phase = .remote
        maySuspend = false
        if forgetsSize { confirmed = nil }
        forgetsSize = false
        cached = nil
        received = 0...0
        mayHaveFile = false
    }
}

/// The expected state of a show's folder.
struct ModelShow: Sendable {
    let id: Int64
    var name: String
    /// The feed as last fetched.
    var feed: ModelFeed
    var document: String
    var episodes: [ModelEpisode] = []
    var state = "active"
    /// The possible statuses of the last response.
    var statuses: Set<Int> = [200]
    var hasCoverCached = false
    var tags: [String] = []
    /// The time of the row's last change, in seconds.
    var changed: ClosedRange<Int64>
    /// The time of the show's last refresh, in seconds.
    var refreshed: ClosedRange<Int64>

    /// The episodes in the order of a listing: newest first, undated ones by their first refresh.
    var listed: [ModelEpisode] {
        episodes.sorted { one, other in
            // Undated episodes were first seen in this run, which is after all dates of the feeds.
            let first = one.item.published ?? .max
            let second = other.item.published ?? .max
            return first != second ? first > second : one.id > other.id
        }
    }

    var newest: ClosedRange<Int64> {
        guard let first = listed.first else { return changed }
        return first.modified
    }
}

/// The expected library after the operations so far. A pure value.
struct ModelLibrary: Sendable {
    private(set) var shows: [ModelShow] = []
    var views = standardViews
    /// The row number of each tag that any show has had, by tag.
    private(set) var tagRows: [String: Int64] = [:]
    private var lastTag: Int64 = 0
    private var lastView = Int64(standardViews.count)
    private var lastShow: Int64 = 0
    private var lastEpisode: Int64 = 0

    subscript(show id: Int64) -> ModelShow? {
        get { shows.first { $0.id == id } }
        set {
            guard let newValue, let index = shows.firstIndex(where: { $0.id == id }) else { return }
            shows[index] = newValue
        }
    }

    subscript(episode id: Int64) -> ModelEpisode? {
        get { shows.lazy.flatMap(\.episodes).first { $0.id == id } }
        set {
            for index in shows.indices {
                guard let newValue, let row = shows[index].episodes.firstIndex(where: { $0.id == id }) else { continue }
                shows[index].episodes[row] = newValue
            }
        }
    }

    var episodes: [ModelEpisode] { shows.flatMap(\.episodes) }

    func show(of episode: Int64) -> ModelShow? { shows.first { $0.episodes.contains { $0.id == episode } } }

    /// The shows in the order of the root's listing.
    var listed: [ModelShow] {
        shows.sorted { Array($0.name.lowercased().utf8).lexicographicallyPrecedes(Array($1.name.lowercased().utf8)) }
    }

    mutating func subscribe(_ feed: ModelFeed, document: String, during moment: ClosedRange<Int64>) {
        lastShow += 1
        shows.append(
            ModelShow(
                id: lastShow, name: feed.title, feed: feed, document: document, changed: moment, refreshed: moment))
        merge(feed, document, into: lastShow, during: moment)
    }

    /// Returns a new view without conditions, which the caller adds to `views`.
    mutating func addView(_ name: String) -> ModelView {
        lastView += 1
        return ModelView(id: lastView, name: name)
    }

    /// Replaces the tags of a show.
    mutating func setTags(_ tags: [String], of id: Int64) {
        for tag in tags where tagRows[tag] == nil {
            lastTag += 1
            tagRows[tag] = lastTag
        }
        self[show: id]?.tags = tags
    }

    mutating func unsubscribe(_ id: Int64) { shows.removeAll { $0.id == id } }

    /// Applies a refresh whose response was `document`.
    mutating func refresh(_ id: Int64, _ feed: ModelFeed, document: String, during moment: ClosedRange<Int64>) {
        guard var show = self[show: id] else { return }
        if document == show.document {
            show.statuses = [304]
            if show.state != "active" { show.changed = show.changed.lowerBound...moment.upperBound }
            show.state = "active"
            show.refreshed = moment
            self[show: id] = show
            return
        }
        self[show: id] = show
        merge(feed, document, into: id, during: moment)
    }

    mutating func refreshFailed(_ id: Int64, status: Int, during moment: ClosedRange<Int64>) {
        guard var show = self[show: id] else { return }
        show.state = "failed"
        show.statuses = [status]
        show.changed = show.changed.lowerBound...moment.upperBound
        self[show: id] = show
    }

    private mutating func merge(
        _ feed: ModelFeed, _ document: String, into id: Int64, during moment: ClosedRange<Int64>
    ) {
        guard var show = self[show: id] else { return }
        var fresh: [(offset: Int, item: ModelItem)] = []
        for (offset, item) in feed.items.filter(\.isListed).enumerated() {
            guard let row = show.episodes.firstIndex(where: { $0.item.number == item.number }) else {
                fresh.append((offset, item))
                continue
            }
            Self.update(&show.episodes[row], to: item)
        }
        // New rows are numbered from the oldest episode on. Of two episodes with the same date, the one later in the
        // document is older.
        fresh.sort { one, other in
            let first = one.item.published ?? .max
            let second = other.item.published ?? .max
            return first != second ? first < second : one.offset > other.offset
        }
        for (_, item) in fresh {
            lastEpisode += 1
            let stem = Self.unique((item.date.map { $0 + " " } ?? "") + item.stem, in: show)
            show.episodes.append(
                ModelEpisode(
                    id: lastEpisode, name: "\(stem).\(item.kind.fileExtension)", item: item, firstSeen: moment))
        }
        show.feed = feed
        show.document = document
        show.state = "active"
        show.statuses = [200]
        show.refreshed = moment
        show.changed = show.changed.lowerBound...moment.upperBound
        self[show: id] = show
    }

    private static func update(_ episode: inout ModelEpisode, to item: ModelItem) {
        let isOther = isOther(episode.item, item)
        episode.item = item
        guard isOther else { return }
        // The size confirmed for the old file does not apply to the new one. But if there is a cache file of the old
        // one, that file and its size stay until an eviction.
        if episode.mayHaveFile { episode.forgetsSize = true } else { episode.confirmed = nil }
    }

    /// Whether the address or the stated length shows that the feed refers to another file.
    static func isOther(_ old: ModelItem, _ new: ModelItem) -> Bool {
        old.version != new.version || old.length != nil && new.length != nil && old.length != new.length
    }

    /// Makes a stem unique within a show, ignoring case.
    private static func unique(_ stem: String, in show: ModelShow) -> String {
        unique(stem, among: Set(show.episodes.map { $0.stem.lowercased() }))
    }

    /// - Parameter taken: The used stems in lower case.
    static func unique(_ stem: String, among taken: Set<String>) -> String {
        var candidate = stem
        var number = 2
        while taken.contains(candidate.lowercased()) {
            var base = stem
            while base.utf8.count + " (\(number))".utf8.count > 235 { base.removeLast() }
            while base.last?.isWhitespace == true { base.removeLast() }
            candidate = "\(base) (\(number))"
            number += 1
        }
        return candidate
    }
}
