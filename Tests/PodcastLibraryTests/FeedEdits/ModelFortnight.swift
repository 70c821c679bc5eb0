import PodcastFeed
import TestSupport

/// Fourteen days of a show, hour by hour, from one seed. Uses no library: its output depends only on the seed.
struct ModelFortnight: Sendable {
    static let hours = 14 * 24

    /// The response to a refresh.
    enum Answer: Sendable {
        /// A parsed feed with these items.
        case feed([Said], isWhole: Bool)
        /// An XML document that has yet to be parsed. `items` are those that the parser is expected to find.
        case document(ModelDocument, items: [Said], isWhole: Bool)
        /// A document that is not a feed, with status 200.
        case page([UInt8])
    }

    private enum Mishap: String, CaseIterable, Sendable {
        case cut = "the document is cut"
        case empty = "the feed has no items"
        case page = "a web page comes in place of the feed"
        case mislabelled = "the document declares another encoding than it has"
        case mixed = "the document is Windows-1252 and declares UTF-8"
    }

    struct Event: Sendable {
        var hour: Int
        /// The edited episode; `nil` for a change of the whole feed.
        var identity: Int?
        var text: String
    }

    var dice: SeededGenerator
    let isXML: Bool
    private(set) var publisher: ModelPublisher
    /// Checks whether the episodes of the next document can be matched with those of the documents served before.
    private var distinguishability = Distinguishability()
    private(set) var events: [Event] = []
    /// The number of edits and mishaps of each kind.
    private(set) var made: [String: Int] = [:]

    init(seed: UInt64) {
        dice = SeededGenerator(seed: seed)
        isXML = seed.isMultiple(of: 2)
        publisher = ModelPublisher(using: &dice, now: noon)
    }

    static var names: [String] {
        ModelPublisher.Edit.allCases.map(\.rawValue) + Mishap.allCases.map(\.rawValue)
    }

    static func time(_ hour: Int) -> Int64 { noon + Int64(hour) * 3600 }

    /// Performs the edits of an hour, and returns the response to its refresh; `nil` if no refresh occurs.
    mutating func answer(hour: Int) -> Answer? {
        var edits = 0
        while hour > 0, edits < 6, dice.chance(publisher.diligence) {
            edits += 1
            edit(hour)
        }
        // Several edits may fall between two refreshes, and some refreshes find no change.
        guard hour == 0 || dice.chance(edits > 0 ? 80 : 15) else { return nil }

        var mishap: Mishap?
        if hour > 0, dice.chance(12) { mishap = Mishap.allCases.randomElement(using: &dice) }
        if mishap == .page {
            note(hour, .page)
            return .page(Array("<!DOCTYPE html><html><head><title>503</title></head><body>Sorry</body></html>".utf8))
        }
        return isXML ? document(hour, mishap) : feed(hour, mishap)
    }

    private mutating func edit(_ hour: Int) {
        let edit = publisher.edit(using: &dice)
        var edited = publisher
        guard let subject = edited.make(edit, now: Self.time(hour), using: &dice) else { return }
        guard distinguishability.holds(for: edited.document) else { return }
        publisher = edited
        made[edit.rawValue, default: 0] += 1
        var event = Event(hour: hour, identity: nil, text: edit.rawValue)
        if case .episode(let identity) = subject {
            event.identity = identity
            event.text += ": " + publisher.say(publisher.episodes[identity]).summary
        }
        events.append(event)
    }

    private mutating func feed(_ hour: Int, _ mishap: Mishap?) -> Answer {
        var items = publisher.document
        if mishap == .empty, record(hour, .empty, []) { items = [] }
        if mishap == .cut {
            let part = Array(items.prefix(Int.random(in: 0...items.count, using: &dice)))
            if record(hour, .cut, part) { return serve(.feed(part, isWhole: false), part) }
        }
        return serve(.feed(items, isWhole: true), items)
    }

    private mutating func document(_ hour: Int, _ mishap: Mishap?) -> Answer {
        var items = publisher.document
        if mishap == .empty, record(hour, .empty, []) { items = [] }
        var encoding = ModelDocument.Encoding.utf8
        if mishap == .mislabelled, record(hour, .mislabelled, items) { encoding = .mislabelled }
        if mishap == .mixed, record(hour, .mixed, items) { encoding = .windows1252CalledUTF8 }
        let document = ModelDocument(
            items, dateSpelling: publisher.dateSpelling, encoding: encoding, using: &dice)
        if mishap == .cut {
            var cut = document
            let part = Array(items.prefix(cut.cut(using: &dice)))
            if record(hour, .cut, part) { return serve(.document(cut, items: part, isWhole: false), part) }
        }
        return serve(.document(document, items: items, isWhole: true), items)
    }

    /// Records a mishap after which the document contains only `items`. Returns `false`, without a record, if these
    /// could not be matched with the episodes of the documents served before.
    private mutating func record(_ hour: Int, _ mishap: Mishap, _ items: [Said]) -> Bool {
        guard distinguishability.holds(for: items) else { return false }
        note(hour, mishap)
        return true
    }

    private mutating func note(_ hour: Int, _ mishap: Mishap) {
        made[mishap.rawValue, default: 0] += 1
        events.append(Event(hour: hour, text: mishap.rawValue))
    }

    private mutating func serve(_ answer: Answer, _ items: [Said]) -> Answer {
        distinguishability.note(items)
        return answer
    }

    /// Returns the events of an episode and those of the whole feed as text; all events if `identity` is `nil`.
    func history(of identity: Int?) -> String {
        var lines = events.filter { $0.identity == nil || identity == nil || $0.identity == identity }.map { event in
            let hour = event.hour % 24
            return "day \(event.hour / 24 + 1), \(hour < 10 ? "0" : "")\(hour):00, "
                + (event.identity.map { "episode \($0)" } ?? "feed") + ": " + event.text
        }
        if lines.count > 60 { lines = ["… \(lines.count - 60) events before"] + lines.suffix(60) }
        return lines.joined(separator: "\n")
    }
}
