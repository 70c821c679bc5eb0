import Foundation
import PodcastFeed
import Testing

/// Documents, each with the expected output of `podfs inspect --json`. A bug found in a real feed becomes such a pair,
/// without test code.
@Suite struct FixtureTests {
    /// The address from which the documents are assumed to come.
    static let base = "https://feeds.example/show/feed.xml"

    static var documents: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: folder.path)
                .filter { $0.hasSuffix(".xml") || $0.hasSuffix(".json-feed") }.sorted()
        }
    }

    static var folder: URL {
        Bundle.module.bundleURL.appendingPathComponent("Fixtures")
    }

    static func bytes(_ name: String) throws -> [UInt8] {
        try Array(Data(contentsOf: folder.appendingPathComponent(name)))
    }

    @Test(arguments: try documents)
    func documentIsParsedToItsExpectedJSON(name: String) throws {
        let feed = try FeedParser.parse(Self.bytes(name), base: Self.base)
        let stem = name.prefix { $0 != "." }
        let written = String(decoding: feed.inspectJSON(), as: UTF8.self)
        // The JSON is the same if other members are written before it.
        var longer: [UInt8] = []
        feed.writeInspectJSON(leading: [("a", .array([.int(1)]))]) { longer += $0 }
        #expect(
            String(decoding: longer, as: UTF8.self) == "{\n  \"a\": [\n    1\n  ],\n" + written.dropFirst(2))
        if let target = ProcessInfo.processInfo.environment["PODFS_WRITE_FIXTURES"] {
            try written.write(toFile: "\(target)/\(stem).json", atomically: true, encoding: .utf8)
            return
        }
        #expect(try written == String(decoding: Self.bytes("\(stem).json"), as: UTF8.self))
    }

    @Test(arguments: try documents)
    func resultDoesNotDependOnTheSizeOfThePieces(name: String) throws {
        let bytes = try Self.bytes(name)
        let whole = try FeedParser.parse(bytes, base: Self.base)
        for size in [1, 7, 64, 4096] {
            let parser = FeedParser(base: Self.base)
            parser.parse(bytes, pieces: size)
            #expect(try parser.finish() == whole, "pieces of \(size) bytes")
        }
    }

    @Test(arguments: try documents)
    func itemsDeliveredOneByOneAreThoseOfTheFeed(name: String) throws {
        let bytes = try Self.bytes(name)
        let whole = try FeedParser.parse(bytes, base: Self.base)
        var items: [Item] = []
        var inspected = InspectedItems()
        let parser = FeedParser(base: Self.base) {
            items.append($0)
            inspected.append($0)
        }
        parser.parse(bytes)
        var feed = try parser.finish()
        #expect(feed.items.isEmpty)
        var text: [UInt8] = []
        feed.writeInspectJSON(items: inspected) { text += $0 }
        // The parser removes an item's author if it equals the show's. It may deliver an item before it has parsed the
        // show's author, so a delivered item keeps such an author, unlike an item in the complete feed.
        func withoutAuthors(_ text: [UInt8]) -> [Substring] {
            String(decoding: text, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("      \"author\"") }
        }
        #expect(withoutAuthors(text) == withoutAuthors(whole.inspectJSON()))
        for index in items.indices where items[index].author == feed.author { items[index].author = nil }
        feed.items = items
        #expect(feed == whole)
    }

    @Test func fixturesAreThere() throws {
        #expect(try Self.documents.count > 20 && OPMLTests.documents.count >= 15)
    }
}

extension FeedParser {
    /// Parses bytes in pieces of a size.
    func parse(_ bytes: [UInt8], pieces size: Int = .max) {
        bytes.withUnsafeBytes { all in
            var rest = all[...]
            while !rest.isEmpty {
                parse(UnsafeRawBufferPointer(rebasing: rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
        }
    }
}
