import Fuse
import TestSupport
import Testing

@testable import PodcastFilesystem

/// Modes of several handles of one node, opened in sequence.
struct HandleModeTests {
    typealias Mode = HandleMode

    /// Returns the outcome of an open; a requested backing file gets the id `backing`.
    private static func open(_ mode: inout Mode, _ wish: Mode.Wish, backing: Int32? = 1) -> String {
        if let way = mode.open(wish) { return text(way) }
        return "asked, " + text(mode.opened(with: backing.map(BackingID.init(rawValue:))))
    }

    private static func text(_ way: Mode.Way) -> String {
        switch way {
        case .cached: "cached"
        case .direct: "direct"
        case .passthrough(let backing): "passthrough \(backing.rawValue)"
        }
    }

    private static func handles(_ mode: Mode) -> Int {
        if case .open(_, let handles) = mode { handles } else { 0 }
    }

    @Test(arguments: [
        (Mode.Wish.cached, "cached", "cached"), (.direct, "direct", "direct"),
        (.passthrough, "asked, passthrough 1", "passthrough 1"),
    ])
    func theFirstHandleDecidesUntilNoneIsOpen(wish: Mode.Wish, first: String, others: String) {
        for later in [Mode.Wish.cached, .direct, .passthrough] {
            var mode = Mode.closed
            #expect(Self.open(&mode, wish) == first)
            #expect(Self.open(&mode, later, backing: 2) == others)
            #expect(Self.handles(mode) == 2)
            mode.close()
            #expect(Self.open(&mode, later, backing: 3) == others)
            mode.close()
            mode.close()
            #expect(mode == .closed)
            #expect(Self.open(&mode, .passthrough, backing: 4) == "asked, passthrough 4")
        }
    }

    @Test func aRejectedBackingFileMeansCachedReads() {
        var mode = Mode.closed
        #expect(Self.open(&mode, .passthrough, backing: nil) == "asked, cached")
        #expect(Self.open(&mode, .passthrough, backing: 1) == "cached")
        mode.close()
        mode.close()
        #expect(Self.open(&mode, .passthrough, backing: 1) == "asked, passthrough 1")
    }

    /// The kernel's own rules (fs/fuse/iomode.c) for random opens and closes: it must not reject any of these opens.
    @Test(arguments: 0..<50) func theSimulatedKernelRefusesNoOpen(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var mode = Mode.closed
        // The kernel's counters of open handles in each mode.
        var cached = 0
        var direct = 0
        var passthrough: [BackingID] = []
        var lastBacking: Int32 = 0
        for _ in 0..<400 {
            let isOpen = cached + direct + passthrough.count > 0
            if isOpen, Bool.random(using: &generator) {
                if cached > 0 { cached -= 1 } else if direct > 0 { direct -= 1 } else { passthrough.removeLast() }
                mode.close()
                continue
            }
            let wish = [Mode.Wish.cached, .direct, .passthrough].randomElement(using: &generator) ?? .cached
            let way: Mode.Way
            if let opened = mode.open(wish) {
                way = opened
            } else {
                lastBacking += 1
                let backing = BackingID(rawValue: lastBacking)
                way = mode.opened(with: Bool.random(using: &generator) ? backing : nil)
            }
            switch way {
            case .cached:
                #expect(passthrough.isEmpty)
                cached += 1
            case .direct:
                #expect(passthrough.isEmpty)
                direct += 1
            case .passthrough(let backing):
                #expect(cached == 0 && passthrough.allSatisfy { $0 == backing })
                passthrough.append(backing)
            }
            #expect(Self.handles(mode) == cached + direct + passthrough.count)
        }
    }
}
