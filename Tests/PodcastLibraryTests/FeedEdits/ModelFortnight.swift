import PodcastFeed
import TestSupport

/// Fourteen days of a show, hour by hour, from one seed. Uses no library: its output depends only on the seed.
struct ModelFortnight: Sendable {
    static let hours = 14 * 24

    private enum Mishap: String, CaseIterable, Sendable {
        case cut = "the document is cut"
        case empty = "the feed has no items"
    }

    var dice: SeededGenerator
    private(set) var publisher: ModelPublisher
    /// Checks whether the episodes of the next document can be matched with those of the documents served before.
    private var distinguishability = Distinguishability()
    /// The edits and mishaps so far, for messages.
    private(set) var events: [String] = []
    /// The number of edits and mishaps of each kind.
    private(set) var made: [String: Int] = [:]

    init(seed: UInt64) {
        dice = SeededGenerator(seed: seed)
        publisher = ModelPublisher(using: &dice, now: noon)
    }

    static var names: [String] {
        ModelPublisher.Edit.allCases.map(\.rawValue) + Mishap.allCases.map(\.rawValue)
    }

    static func time(_ hour: Int) -> Int64 { noon + Int64(hour) * 3600 }

    /// Performs the edits of an hour, and returns the items of the document that its refresh gets, and whether the
    /// document is whole; `nil` if no refresh occurs.
    mutating func answer(hour: Int) -> ([Said], isWhole: Bool)? {
        var edits = 0
        while hour > 0, edits < 6, dice.chance(publisher.diligence) {
            edits += 1
            edit(hour)
        }
        // Several edits may fall between two refreshes, and some refreshes find no change.
        guard hour == 0 || dice.chance(edits > 0 ? 80 : 15) else { return nil }

        var items = publisher.document
        var isWhole = true
        if hour > 0, dice.chance(8), let mishap = Mishap.allCases.randomElement(using: &dice) {
            let count = mishap == .cut ? Int.random(in: 0...items.count, using: &dice) : 0
            // Without a mishap if the items could not be matched with the episodes of the documents served before.
            if distinguishability.holds(for: Array(items.prefix(count))) {
                items = Array(items.prefix(count))
                isWhole = mishap != .cut
                made[mishap.rawValue, default: 0] += 1
                events.append("hour \(hour): \(mishap.rawValue)")
            }
        }
        distinguishability.note(items)
        return (items, isWhole)
    }

    private mutating func edit(_ hour: Int) {
        let edit = publisher.edit(using: &dice)
        var edited = publisher
        guard let subject = edited.make(edit, now: Self.time(hour), using: &dice) else { return }
        guard distinguishability.holds(for: edited.document) else { return }
        publisher = edited
        made[edit.rawValue, default: 0] += 1
        var event = "hour \(hour): \(edit.rawValue)"
        if case .episode(let identity) = subject {
            event += ": episode \(identity): " + publisher.say(publisher.episodes[identity]).summary
        }
        events.append(event)
    }
}
