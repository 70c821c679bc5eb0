import Foundation
import PodcastProtocol
import Testing
import Transfers

@testable import PodcastFeed
@testable import PodcastLibrary

/// A temporary folder for a test, removed with the object.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "/podfs-library-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    var library: String { path + "/data/library.sqlite" }
}

/// Creates an empty library in a folder of its own. Not throwing, so that it can be a property's initial value.
func makeLibrary() -> (TemporaryFolder, Library) {
    do {
        let folder = try TemporaryFolder()
        return (folder, try Library.openForWriting(at: folder.library))
    } catch {
        fatalError("no library: \(error)")
    }
}

/// 2026-11-20 12:00:00 UTC.
let noon: Int64 = 1795176000
let day: Int64 = 86_400
let feedURL = "https://example.com/feed.xml"
let ok = FeedResponse(finalURL: feedURL, status: 200, etag: "\"1\"", lastModified: nil, contentType: "text/xml")

func makeItem(
    _ title: String?, guid: String? = nil, url: String, published: Int64? = noon, offset: Int = 0,
    duration: Double? = nil, length: Int64? = nil, type: String? = "audio/mpeg"
) -> Item {
    var item = Item()
    item.title = title
    item.guid = guid
    item.published = published.map { PublicationDate(seconds: $0, offset: offset) }
    item.duration = duration
    item.enclosures = [Enclosure(url: url, length: length, type: type)]
    return item
}

/// - Parameter addresses: Complete ones, or the names of files of `https://x.example/`.
func alternate(
    _ type: String?, _ addresses: String..., title: String? = nil, bitRate: Double? = nil, height: Int? = nil,
    language: String? = nil, hash: String? = nil, isDefault: Bool = false
) -> AlternateEnclosure {
    var alternate = AlternateEnclosure()
    (alternate.type, alternate.title, alternate.bitRate) = (type, title, bitRate)
    (alternate.height, alternate.language, alternate.isDefault) = (height, language, isDefault)
    alternate.sources = addresses.map { .init(url: $0.contains("://") ? $0 : "https://x.example/\($0)") }
    alternate.integrity = hash.map { .init(type: "sri", value: $0) }
    return alternate
}

func makeFeed(_ items: [Item], title: String? = "Show") -> Feed {
    var feed = Feed(format: .rss2)
    feed.title = title
    feed.items = items
    return feed
}

extension Library {
    func subscribe(_ items: [Item], url: String = feedURL, title: String? = "Show", name: String? = nil) throws
        -> MergeResult
    {
        try subscribe(
            url: url, feed: makeFeed(items, title: title), name: name,
            response: FeedResponse(finalURL: url, status: 200))
    }

    func subscribe(
        url: String = feedURL, feed: Feed, name: String? = nil, response: FeedResponse = ok,
        template: NameTemplate = .standard, now: Int64 = noon, ephemeral: Bool = false, fromServer: String? = nil
    ) throws -> MergeResult {
        let show = ArrivingShow(
            url: url, feed: feed, name: name, response: response, now: now, ephemeral: ephemeral,
            fromServer: fromServer)
        return try subscribe([show], template: template)[0].get()
    }

    func merge(_ items: [Item], into podcast: ShowID, now: Int64 = noon + day) throws -> MergeResult {
        try merge(feed: makeFeed(items), into: podcast, now: now)
    }

    func merge(feed: Feed, into podcast: ShowID, response: FeedResponse = ok, now: Int64) throws -> MergeResult {
        try merge(feed: feed, into: podcast, response: response, template: .standard, now: now)
    }

    func summaries(of podcast: ShowID, notes: Int = 100, chapters: Int = 10) throws -> [EpisodeSummary] {
        var found: [EpisodeSummary] = []
        let limits = SummaryLimits(notes: notes, notesInAll: notes, chapters: chapters, chaptersInAll: chapters)
        try summaries(of: podcast, limits: limits) { found.append($0) }
        return found
    }

    /// Returns the episodes of a view, in its order.
    func episodes(in view: String) throws -> [EpisodeID] {
        guard let folder = try viewFolder(named: view) else { return [] }
        return try entries(of: folder.id).map(\.id)
    }
}

/// Expects that an error is thrown for which `isExpected` is true.
func expectError(
    _ isExpected: (LibraryError) -> Bool = \.isDamage, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
) {
    let error = #expect(throws: LibraryError.self, sourceLocation: sourceLocation) { try body() }
    #expect(error.map(isExpected) ?? false, "\(String(describing: error))", sourceLocation: sourceLocation)
}

extension LibraryError {
    var isDamage: Bool { if case .damaged = self { true } else { false } }
    var isFailure: Bool { if case .failed = self { true } else { false } }
}
