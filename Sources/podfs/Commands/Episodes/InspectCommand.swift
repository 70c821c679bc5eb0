import ArgumentParser
import Foundation
import Glibc
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

    func perform() async throws {
        let address = access(source, F_OK) == 0 ? source : try FeedArgument.address(source)
        if address.contains("://") {
            let daemon = try Installation().daemon()
            defer { daemon.close() }
            guard case .text(let text) = try await daemon.perform(.inspect(url: address)) else {
                throw ClientError.unexpectedReply
            }
            if json {
                Terminal.print(json: text)
            } else {
                show(Summary(try JSONDecoder().decode(Document.self, from: Data(text.utf8))))
            }
        } else if json {
            var items = InspectedItems()
            let feed = try readFile { items.append($0) }
            feed.writeInspectJSON(items: items) { Terminal.write(json: $0) }
            Terminal.write(json: "\n")
        } else {
            var summary = Summary()
            summary.add(try readFile { summary.add($0) })
            show(summary)
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
                guard count > 0 else {
                    throw CommandError(.failed, "\(source): \(errnoText())")
                }
                parser.parse(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            }
        }
        do {
            return try parser.finish()
        } catch {
            throw CommandError(.failed, "\(source): \(error)")
        }
    }

    private func show(_ summary: Summary) {
        Terminal.print("\(PlainText.oneLine(summary.title ?? "(no title)")) — \(summary.format)")
        if let link = summary.link { Terminal.print(PlainText.oneLine(link)) }
        Terminal.print("\(summary.itemCount) items, \(summary.playableCount) with media")
        for item in summary.items {
            let day = item.published.map { String($0.prefix(10)) } ?? "no date   "
            Terminal.print("  \(day)  \(PlainText.oneLine(item.title ?? "(no title)"))")
        }
        let more = summary.itemCount - summary.items.count
        if more > 0 { Terminal.print("  and \(more) more: --json shows all") }
        for problem in summary.problems {
            Terminal.print("line \(problem.line): \(PlainText.oneLine(problem.message))")
        }
    }

    /// The displayed part of a feed.
    fileprivate struct Summary {
        var format = ""
        var title: String?
        var link: String?
        /// The first ten items; `published` is ISO 8601.
        var items: [(title: String?, published: String?)] = []
        var itemCount = 0
        var playableCount = 0
        var problems: [(line: Int, message: String)] = []

        mutating func add(title: String?, published: @autoclosure () -> String?, isPlayable: Bool) {
            itemCount += 1
            if isPlayable { playableCount += 1 }
            if items.count < 10 { items.append((title, published())) }
        }
    }

    /// The members of the daemon's JSON that the summary needs.
    fileprivate struct Document: Decodable {
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

extension InspectCommand.Summary {
    fileprivate mutating func add(_ item: Item) {
        add(title: item.title, published: item.published?.iso8601, isPlayable: !item.enclosures.isEmpty)
    }

    /// Sets the properties of the feed, after its items have been added.
    fileprivate mutating func add(_ feed: Feed) {
        format = feed.format.rawValue
        title = feed.title
        link = feed.link
        problems = feed.diagnostics.map { ($0.line, $0.message) }
    }

    fileprivate init(_ document: InspectCommand.Document) {
        self.init(
            format: document.format, title: document.title, link: document.link,
            problems: document.diagnostics.map { ($0.line, $0.message) })
        for item in document.items {
            add(title: item.title, published: item.published, isPlayable: !item.enclosures.isEmpty)
        }
    }
}
