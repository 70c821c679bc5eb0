import Foundation
import PodcastFeed
import Testing

/// Feeds from the world, when there are some: the folder that `PODFS_TEST_FEEDS` names, else `../shared/feeds` beside
/// the package.
@Suite struct RealFeedTests {
    static let folder: URL = {
        if let path = ProcessInfo.processInfo.environment["PODFS_TEST_FEEDS"] { return URL(fileURLWithPath: path) }
        let package = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return package.deletingLastPathComponent().appendingPathComponent("shared/feeds")
    }()

    static let documents: [String] =
        FileManager.default.enumerator(atPath: folder.path)?
        .compactMap { $0 as? String }
        .filter { $0.hasSuffix(".xml") || $0.hasSuffix(".rss") || $0.hasSuffix(".json") || $0.hasSuffix(".atom") }
        .sorted() ?? []

    @Test(.enabled(if: !documents.isEmpty), arguments: documents)
    func feedFromTheWorldIsReadWhole(name: String) throws {
        let bytes = try Array(Data(contentsOf: Self.folder.appendingPathComponent(name)))
        let feed: Feed
        do {
            feed = try FeedParser.parse(bytes)
        } catch let error as FeedError {
            // What these collections hold that is no feed says so in its name, or has no root of a feed.
            let text = String(decoding: bytes.prefix(4096), as: UTF8.self).lowercased()
            let claims = ["<rss", "<feed", "<rdf:rdf"].contains { text.contains($0) } && !text.contains("<html")
            #expect(!claims, "\(name): \(error)")
            #expect(!error.description.isEmpty)
            return
        }
        let all = String(decoding: bytes, as: UTF8.self)
        let written = all.components(separatedBy: "<item>").count + all.components(separatedBy: "<item ").count - 2
        let inComments = all.contains("<!--") || all.contains("<![CDATA[")
        if !inComments, feed.format == .rss2 { #expect(feed.items.count == written, "\(name)") }
        if written > 0 { #expect(!feed.items.isEmpty) }
        if all.contains("<enclosure ") { #expect(feed.items.contains { !$0.enclosures.isEmpty }) }
        for item in feed.items {
            #expect(item.enclosures.allSatisfy { !$0.url.isEmpty && ($0.length ?? 1) > 0 })
            #expect(Set(item.enclosures.map(\.url)).count == item.enclosures.count)
            #expect(item.title != "" && item.guid != "" && item.description != "")
            #expect((item.duration ?? 1) > 0)
            #expect(item.line > 0)
        }
        #expect(zip(feed.items, feed.items.dropFirst()).allSatisfy { $0.line <= $1.line })

        let parser = FeedParser()
        bytes.withUnsafeBytes { all in
            for start in stride(from: 0, to: all.count, by: 1999) {
                parser.parse(UnsafeRawBufferPointer(rebasing: all[start..<min(start + 1999, all.count)]))
            }
        }
        #expect(try parser.finish() == feed)
    }
}
