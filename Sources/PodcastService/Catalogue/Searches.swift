internal import Foundation
internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

/// The search for shows in the configured catalogues (podcast directories), with a cache of their results.
@ServiceActor
final class Searches: ServicePart {
    nonisolated let driver: CoreDriver
    /// A catalogue, the number of entries requested from it, and the term.
    private struct Key: Hashable {
        var catalogue: String
        var count: Int
        var term: SearchTerm
    }

    /// Recent results. Those of the catalogues that answered are stored even if another one failed, so a repeated
    /// search queries only the latter.
    private var results: [Key: (entries: [FoundShow], stored: Instant)] = [:]
    /// Running requests, shared by all clients that search for the same term.
    private var running: [Key: Task<[FoundShow], any Error>] = [:]

    /// Lifetime of a result: an hour, since catalogues do not list new shows faster.
    static let lifetime = Duration.seconds(3_600)
    /// Maximum number of results: at 200 entries of half a kilobyte each, at most 10 MB.
    private static let capacity = 100

    init(_ driver: CoreDriver) { self.driver = driver }

    /// The number of results in a search folder (`.search/TERM`). A search with a lower limit requests this many
    /// entries too, so that the cached result also answers a later search for the same term with a limit up to this
    /// number. It is the default of the iTunes Search API.
    static let resultsOfFolder = 50

    // MARK: Catalogues

    func search(_ text: String, limit: Int) async throws -> Reply {
        let (shows, problems) = try await entries(for: text, limit: limit)
        return .found(try marked(shows), problems: problems)
    }

    /// Searches the catalogues for a term, stores the found shows in the library, and returns their folders.
    func searchFolder(_ text: String) async throws -> [FoundFolder] {
        let (shows, problems) = try await entries(for: text, limit: Self.resultsOfFolder)
        for problem in problems { log.warning("search for '\(text)': \(problem)") }
        return try library.store(found: try marked(shows), now: now())
    }

    /// Sets `subscribed` of the shows whose feeds are subscribed.
    private func marked(_ shows: [FoundShow]) throws -> [FoundShow] {
        // Each feed by its normalized address, before and after redirects.
        var names: [String: String] = [:]
        for podcast in try library.podcasts() {
            for url in [podcast.finalURL, podcast.url] { if let url { names[WebAddress.key(url)] = podcast.name } }
        }
        return shows.map { show in
            var show = show
            show.subscribed = names[WebAddress.key(show.url)]
            return show
        }
    }

    /// Returns the results of all catalogues, and one message per catalogue that failed.
    ///
    /// Throws if all catalogues failed. If their failures have the same error number, the thrown error has it too,
    /// otherwise EIO. A file system operation that waits for the search fails with this number.
    private func entries(for text: String, limit: Int) async throws -> ([FoundShow], problems: [String]) {
        guard let term = SearchTerm(text) else {
            throw Failure(
                kind: .usage, errorNumber: EINVAL, message: "nothing to search for: give a term of 1 to 200 characters")
        }
        guard (1...Catalogue.mostEntries).contains(limit) else {
            throw Failure(kind: .usage, message: "a search returns 1 to \(Catalogue.mostEntries) results")
        }
        let catalogues = configuration.catalogues
        guard !catalogues.isEmpty else { throw Failure(message: "no catalogue is configured") }
        let count = limit <= Self.resultsOfFolder ? Self.resultsOfFolder : Catalogue.mostEntries
        // If all results are cached, nothing is fetched, and `podfs status` has no task to show.
        let keys = catalogues.map { Key(catalogue: $0.name, count: count, term: term) }
        let isCached = keys.allSatisfy { recent($0) != nil }
        let task = isCached ? nil : driver.beginFetch(path: term.text, kind: .search)
        defer { if let task { driver.finishFetch(task) } }
        var lists = [[FoundShow]](repeating: [], count: catalogues.count)
        var failures: [Failure] = []
        let started = zip(catalogues, keys).map(search)
        for (index, search) in started.enumerated() {
            switch await search.result {
            case .success(let entries): lists[index] = entries
            case .failure(let failure as Failure): failures.append(failure)
            case .failure(let error): failures.append(Failure(message: "\(catalogues[index].name): \(error)"))
            }
        }
        if failures.count == catalogues.count {
            let numbers = Set(failures.map(\.errorNumber))
            throw Failure(
                errorNumber: numbers.count == 1 ? numbers.first ?? EIO : EIO,
                message: "the search failed: \(failures.map(\.message).joined(separator: "; "))")
        }
        return (FoundShow.merged(lists, limit: limit), failures.map(\.message))
    }

    /// Returns a result from the last hour; `nil` if there is none.
    private func recent(_ key: Key) -> [FoundShow]? {
        results[key].flatMap { uptime - $0.stored < Self.lifetime ? $0.entries : nil }
    }

    /// Searches one catalogue: joins a running search, returns the cached result, or starts a request.
    private func search(_ catalogue: Catalogue, _ key: Key) -> Task<[FoundShow], any Error> {
        if let search = running[key] { return search }
        let task = startTask { [self] () -> [FoundShow] in
            defer { running[key] = nil }
            if let entries = recent(key) { return entries }
            let entries =
                try await entries(of: catalogue) {
                    try catalogue.request(for: key.term, limit: key.count, now: now())
                } ?? []
            results = results.filter { recent($0.key) != nil }
            if results.count >= Self.capacity, let oldest = results.min(by: { $0.value.stored < $1.value.stored }) {
                results[oldest.key] = nil
            }
            results[key] = (entries, uptime)
            return entries
        }
        running[key] = task
        return task
    }

    /// Sends a request to a catalogue and parses the response; returns `nil` if `request` does.
    private func entries(
        of catalogue: Catalogue, _ request: () throws -> DataRequest?
    ) async throws -> [FoundShow]? {
        guard var request = try request() else { return nil }
        request.timeout = configuration.searchTimeout
        do {
            let (head, body) = try await engine.response(to: request)
            return try catalogue.entries(head: head, body: body).map { entry in
                var entry = entry
                entry.space = head.space
                return entry
            }
        } catch let error as TransferError {
            let isLate = error.code == .timedOut
            let says = isLate ? "no answer within \(configuration.searchTimeout.seconds) s" : error.message
            throw Failure(errorNumber: error.errorNumber, message: "\(catalogue.name): \(says)")
        }
    }

    // MARK: Pages of directories

    /// Returns the feed of the show that a page of a podcast directory describes.
    func feed(of page: CataloguePage) async throws -> FoundShow {
        for catalogue in configuration.catalogues {
            guard let entries = try await entries(of: catalogue, { try catalogue.request(for: page, now: now()) })
            else {
                continue
            }
            guard let entry = entries.first else {
                throw Failure(message: "\(page.directory) names no feed for this page: find the show with podfs search")
            }
            return entry
        }
        throw Failure(
            message: "this is a page of \(page.directory), which podfs can resolve only with a key; "
                + "see search.podcastindex.key in podfs.conf(5), or find the show with podfs search")
    }

    /// Returns the address space (public, local or loopback) of the catalogue whose cached results contain this feed.
    /// Returns the most public one if there are several, and `nil` if there is none.
    func catalogueSpace(of url: String) -> AddressSpace? {
        let key = WebAddress.key(url)
        return results.values.flatMap(\.entries).filter { WebAddress.key($0.url) == key }.compactMap(\.space).min()
    }
}

/// A search term in normalized form, so that terms that a catalogue treats alike are equal.
struct SearchTerm: Sendable, Hashable {
    /// The text that is sent: NFC, trimmed, with `PlainText.collapsed`.
    let text: String
    /// The text folded for case-insensitive comparison.
    private let key: String

    /// Normalizes a term; `nil` if it is empty or longer than 200 characters. No show has such a long name, and
    /// catalogues truncate such a term.
    init?(_ text: String) {
        // A folder's name has at most 255 bytes, but a client may send more. Reject a huge term before normalizing it.
        guard text.utf8.count <= 4_096 else { return nil }
        let normal = PlainText.collapsed(text.unicodeScalars).precomposedStringWithCanonicalMapping
        guard !normal.isEmpty, normal.count <= 200 else { return nil }
        self.text = normal
        key = FileName.folded(normal)
    }

    static func == (one: Self, other: Self) -> Bool { one.key == other.key }
    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
