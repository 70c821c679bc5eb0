import Platform
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastFilesystem
@testable import PodcastService

/// A simulation of one person who listens to one episode in one player. `ListeningBook`, which sees only the player's
/// reports, must agree with a reference model that sees every second played.
@Suite struct ListeningSimulation {
    private struct Person {
        var random: SeededGenerator
        var book = ListeningBook()
        var stored: StoredListening
        let duration: Double
        var now: Double = 0
        var position: Double = 0

        // The reference model.

        /// The position of the last start or seek.
        var stretch: Double = 0
        /// The seconds played since the last start, or since a later seek to the beginning of the episode.
        var listened: Double = 0
        /// Whether playback has started at the beginning, or has since been sought to it. Cleared when `isPlayed`
        /// changes and when the daemon is killed.
        var isFromBeginning = true
        /// Whether the episode must be marked as played.
        var isPlayed = false

        init(seed: UInt64) {
            random = SeededGenerator(seed: seed)
            duration = Double(Int.random(in: 8...4_000, using: &random))
            stored = StoredListening(duration: duration)
        }

        var tailBegin: Double { duration - ListeningRules.tail(of: duration) }

        mutating func report(_ phase: ListeningReport.Phase) -> ListeningBook.Verdict {
            if phase != .started, phase != .seeked {
                if !isPlayed, position >= tailBegin, stretch < tailBegin, listened > 0 {
                    (isPlayed, isFromBeginning) = (true, false)
                } else if isPlayed, isFromBeginning, position < tailBegin, listened >= ListeningRules.relisten {
                    (isPlayed, isFromBeginning) = (false, false)
                }
            }
            let verdict = book.handle(
                ListeningReport(episode: 7, player: "p", phase: phase, position: position),
                stored: stored, at: .milliseconds(Int64(now * 1_000)))
            if let change = verdict.change { (stored.played, stored.position) = (change.played, change.position) }
            return verdict
        }

        mutating func begin(at position: Double) {
            self.position = position
            stretch = position
            listened = 0
            isFromBeginning = position < ListeningRules.beginning
        }

        mutating func seek(to position: Double) {
            self.position = position
            stretch = position
            if position < ListeningRules.beginning { (listened, isFromBeginning) = (0, true) }
        }

        /// Plays `seconds` seconds, or to the end if that is sooner, with the reports that a player makes meanwhile.
        mutating func play(_ seconds: Double) {
            var rest = min(seconds, duration - position)
            while rest > 0 {
                let step = min(rest, 10)
                now += step
                position += step
                listened += step
                rest -= step
                _ = report(.playing)
            }
        }
    }

    @Test(arguments: UInt64(0)..<300) func theBookAgreesWithAReferenceModel(seed: UInt64) {
        var person = Person(seed: seed)
        for _ in 0..<8 {
            let before = person.stored
            person.begin(at: person.random.chance(60) ? 0 : .random(in: 0..<person.duration, using: &person.random))
            let resume = person.report(.started).resume
            #expect(resume == nil || person.position < ListeningRules.beginning && !before.played)
            if let resume, person.random.chance(70) {
                person.now += 0.5
                person.seek(to: resume)
                _ = person.report(.seeked)
            }
            for _ in 0..<Int.random(in: 0..<6, using: &person.random) {
                switch Int.random(in: 0..<4, using: &person.random) {
                case 0:
                    person.seek(
                        to: (Double.random(in: 0..<person.duration, using: &person.random) * 1_000).rounded() / 1_000)
                    _ = person.report(.seeked)
                case 1:
                    _ = person.report(.paused)
                    // A pause, or a night in a suspended laptop.
                    person.now += .random(in: 0..<100_000, using: &person.random)
                    _ = person.report(.playing)
                default: person.play(.random(in: 11..<1_200, using: &person.random))
                }
                #expect(person.stored.played == person.isPlayed, "seed \(seed) at \(person.position)")
                if person.random.chance(5), person.stored.position == person.position {
                    // The daemon was killed: the next one knows only what is stored.
                    person.book = ListeningBook()
                    person.isFromBeginning = false
                }
            }
            person.now += 1
            _ = person.report(.stopped)
            let isUnchanged = person.stored == before
            #expect(
                person.stored.played || isUnchanged
                    || person.stored.position.map { abs($0 - person.position) < 0.01 } ?? false,
                "seed \(seed)")
        }
    }
}
