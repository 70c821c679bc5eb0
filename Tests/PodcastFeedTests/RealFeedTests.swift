import Foundation
import PodcastFeed
import TestSupport
import Testing

/// Tests with real feeds, from the folder that the environment variable `PODFS_TEST_FEEDS` names, otherwise from
/// `../shared/feeds` relative to the package. Skipped if the folder contains none.
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

    @Test(.enabled(if: !documents.isEmpty, "there are no feeds in \(folder.path)"), arguments: documents)
    func realFeedIsReadCompletely(name: String) throws {
        let bytes = try Array(Data(contentsOf: Self.folder.appendingPathComponent(name)))
        let feed: Feed
        do {
            feed = try FeedParser.parse(bytes)
        } catch let error as DocumentError {
            // The folder may also contain documents that are not feeds. They lack the root element of a feed, or are
            // HTML.
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

        let items = feed.items + feed.liveItems.map(\.item)
        let media = Set(items.flatMap { ($0.enclosures + $0.attachments).map(\.url) })
        let addresses = Self.enclosures(in: all, feed.format)
        #expect(media.isSuperset(of: addresses), "\(name)")

        var dice = SeededGenerator(seed: UInt64(bytes.count))
        for _ in 0..<3 {
            let parser = FeedParser()
            MutationTests.pieces(of: bytes, &dice) { parser.parse($0) }
            #expect(try parser.finish() == feed)
        }
    }

    /// Finds the addresses of all enclosures without podfs's parser: in a JSON feed with `JSONSerialization`, otherwise
    /// by a text search that ignores comments and CDATA sections.
    private static func enclosures(in document: String, _ format: Feed.Format) -> [String] {
        if format == .json {
            let object = try? JSONSerialization.jsonObject(with: Data(document.utf8)) as? [String: Any]
            let items = object?["items"] as? [[String: Any]] ?? []
            return items.flatMap { $0["attachments"] as? [[String: Any]] ?? [] }.compactMap { $0["url"] as? String }
        }
        let text = document.replacing(/<!--(?s:.*?)-->/, with: "").replacing(/<!\[CDATA\[(?s:.*?)\]\]>/, with: "")
        var tags = text.matches(of: /<enclosure\s[^>]*>/).map { String($0.output) }
        tags += text.matches(of: /<(?:atom:)?link\s[^>]*rel=["']enclosure["'][^>]*>/).map { String($0.output) }
        return tags.compactMap { tag in
            guard let match = tag.firstMatch(of: /(?:url|href)\s*=\s*(?:"([^"]*)"|'([^']*)')/),
                let value = match.output.1 ?? match.output.2
            else { return nil }
            let address = value.trimmingCharacters(in: .whitespacesAndNewlines).replacing("&amp;", with: "&")
                .replacing(" ", with: "%20")
            return address.isEmpty ? nil : address
        }
    }
}
