import ArgumentParser
import Foundation
import Platform
import PodcastFeed
import PodcastPages
import PodcastProtocol

struct InspectCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect", abstract: "Show the contents of a feed without subscribing to it.",
        discussion: """
            Examples:
              podfs inspect feed.xml
              podfs inspect https://example.com/feed.xml --json
            """)

    @Argument(help: "A file, or the http or https address of a feed.", completion: .file())
    var source: String

    @Flag(help: "Print everything as JSON.")
    var json = false

    /// The number of bytes per read, small enough for the L2 cache.
    private static let pieceSize = 128 << 10

    /// The number of items in the summary.
    private static let shownItems = 10

    func perform() async throws {
        let address = access(source, F_OK) == 0 ? source : try FeedArgument.address(source)
        if address.contains("://") {
            let text = try await Installation().perform(.inspect(url: address), \.text)
            if json { return Terminal.print(json: text) }
            let document = try JSONDecoder().decode(Document.self, from: Data(text.utf8))
            show(document, count: document.items.count, playable: document.items.count { !$0.enclosures.isEmpty })
        } else {
            var items = InspectedItems()
            var (count, playable) = (0, 0)
            let feed = try readFile { item in
                count += 1
                if !item.enclosures.isEmpty { playable += 1 }
                if json || count <= Self.shownItems { items.append(item) }
            }
            if json {
                feed.writeInspectJSON(items: items) { Terminal.write(json: $0) }
                return Terminal.write(json: "\n")
            }
            var text: [UInt8] = []
            feed.writeInspectJSON(items: items) { text += $0 }
            show(try JSONDecoder().decode(Document.self, from: Data(text)), count: count, playable: playable)
        }
    }

    /// Parses a feed file piece by piece, and passes its items to `onItem` instead of storing them.
    private func readFile(onItem: @escaping (Item) -> Void) throws -> Feed {
        let descriptor = open(source, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CommandError(.failed, "\(source): \(errnoText())") }
        defer { close(descriptor) }
        let parser = FeedParser(onItem: onItem)
        try withUnsafeTemporaryAllocation(byteCount: Self.pieceSize, alignment: 16) { buffer in
            while !parser.isFull {
                let count = retryingInterrupts { read(descriptor, buffer.baseAddress, buffer.count) }
                if count == 0 { return }
                guard count > 0 else { throw CommandError(.failed, "\(source): \(errnoText())") }
                parser.parse(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            }
        }
        do {
            return try parser.finish()
        } catch {
            throw CommandError(.failed, "\(source): \(error)")
        }
    }

    /// - Parameter document: The feed, with at least the first `shownItems` of its `count` items.
    private func show(_ document: Document, count: Int, playable: Int) {
        Terminal.print("\(PlainText.oneLine(document.title ?? "(no title)")) — \(document.format)")
        if let link = document.link { Terminal.print(PlainText.oneLine(link)) }
        Terminal.print("\(count) items, \(playable) with media")
        for item in document.items.prefix(Self.shownItems) {
            let day = item.published.map { String($0.prefix(10)) } ?? "no date   "
            Terminal.print("  \(day)  \(PlainText.oneLine(item.title ?? "(no title)"))")
        }
        if count > Self.shownItems { Terminal.print("  and \(count - Self.shownItems) more: --json shows all") }
        for problem in document.diagnostics {
            Terminal.print("line \(problem.line): \(PlainText.oneLine(problem.message))")
        }
    }

    /// The members of the JSON that the summary needs.
    private struct Document: Decodable {
        struct Item: Decodable {
            struct Enclosure: Decodable { var url: String }
            var title: String?
            var published: String?
            var enclosures: [Enclosure]
        }
        struct Problem: Decodable {
            var line: Int
            var message: String
        }
        var format: String
        var title: String?
        var link: String?
        var items: [Item]
        var diagnostics: [Problem]
    }
}
