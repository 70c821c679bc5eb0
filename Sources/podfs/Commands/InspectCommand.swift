import ArgumentParser
import Foundation
import PodcastClient
import PodcastFeed
import PodcastPages
import PodcastProtocol

struct InspectCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect", abstract: "Show what a feed says, without subscribing to it.",
        discussion: """
            Examples:
              podfs inspect feed.xml
              podfs inspect https://example.com/feed.xml --json
            """)

    @Argument(help: "A file, or the http or https address of a feed.", completion: .file())
    var source: String

    @Flag(help: "Print all of it as JSON.")
    var json = false

    func perform() async throws {
        if source.contains("://") {
            let daemon = try Installation().daemon()
            defer { daemon.end() }
            guard case .text(let text) = try await daemon.perform(.inspect(url: source)) else { return }
            if json {
                Terminal.print(json: text)
            } else {
                show(try JSONDecoder().decode(Summary.self, from: Data(text.utf8)))
            }
        } else {
            let feed = try inspectFile()
            if json {
                Terminal.print(json: String(decoding: feed.inspectJSON(), as: UTF8.self))
            } else {
                show(Summary(feed))
            }
        }
    }

    private func inspectFile() throws -> Feed {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: source), options: .mappedIfSafe)
        } catch {
            throw CommandError(.failed, "\(source): \(error.localizedDescription)")
        }
        let parser = FeedParser()
        data.withUnsafeBytes { parser.parse($0) }
        do {
            return try parser.finish()
        } catch {
            throw CommandError(.failed, "\(source): \(error)")
        }
    }

    private func show(_ summary: Summary) {
        Terminal.print("\(PlainText.oneLine(summary.title ?? "(no title)")) — \(summary.format)")
        if let link = summary.link { Terminal.print(PlainText.oneLine(link)) }
        let playable = summary.items.filter { !$0.enclosures.isEmpty }.count
        Terminal.print("\(summary.items.count) items, \(playable) with media")
        for item in summary.items.prefix(10) {
            let day = item.published.map { String($0.prefix(10)) } ?? "no date   "
            Terminal.print("  \(day)  \(PlainText.oneLine(item.title ?? "(no title)"))")
        }
        if summary.items.count > 10 { Terminal.print("  and \(summary.items.count - 10) more: --json shows all") }
        for problem in summary.diagnostics {
            Terminal.print("line \(problem.line): \(PlainText.oneLine(problem.message))")
        }
    }

    /// What the summary needs: of the JSON that the daemon sends, or of a feed that was read here.
    fileprivate struct Summary: Decodable {
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
    fileprivate init(_ feed: Feed) {
        self.init(
            format: feed.format.rawValue, title: feed.title, link: feed.link,
            items: feed.items.map { item in
                Item(
                    title: item.title, published: item.published?.iso8601,
                    enclosures: item.enclosures.map { Item.Enclosure(url: $0.url) })
            },
            diagnostics: feed.diagnostics.map { Problem(line: $0.line, message: $0.message) })
    }
}
