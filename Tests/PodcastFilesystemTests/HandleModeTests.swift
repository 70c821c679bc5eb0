import TestSupport
import Testing

@testable import Fuse
@testable import PodcastFilesystem

/// Modes of several handles of one node, opened in sequence.
struct HandleModeTests {
    typealias Mode = HandleMode

    /// Returns the I/O mode of an open as text. It begins with `asked, ` if the mode required that a backing file be
    /// registered first. That registration returns the id `backing`; if `backing` is `nil`, it is refused.
    private static func open(_ mode: inout Mode, _ preference: Mode.Preference, backing: Int32? = 1) -> String {
        if let mode = mode.open(preference) { return text(mode) }
        return "asked, " + text(mode.opened(with: backing.map(BackingID.init(rawValue:))))
    }

    private static func text(_ mode: Mode.IOMode) -> String {
        switch mode {
        case .cached: "cached"
        case .direct: "direct"
        case .passthrough(let backing): "passthrough \(backing.rawValue)"
        }
    }

    private static func handles(_ mode: Mode) -> Int {
        if case .open(_, let handles) = mode { handles } else { 0 }
    }

    @Test(arguments: [
        (Mode.Preference.cached, "cached", "cached"), (.direct, "direct", "direct"),
        (.passthrough, "asked, passthrough 1", "passthrough 1"),
    ])
    func theFirstHandleDecidesUntilNoneIsOpen(preference: Mode.Preference, first: String, others: String) {
        for later in [Mode.Preference.cached, .direct, .passthrough] {
            var mode = Mode.closed
            #expect(Self.open(&mode, preference) == first)
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

    /// Checks random opens and closes by the kernel's rules (fs/fuse/iomode.c), which must reject none of the opens.
    @Test(arguments: 0..<50) func theSimulatedKernelRefusesNoOpen(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var mode = Mode.closed
        // The simulated kernel's open handles in each mode.
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
            let preference =
                [Mode.Preference.cached, .direct, .passthrough].randomElement(using: &generator) ?? .cached
            let ioMode: Mode.IOMode
            if let opened = mode.open(preference) {
                ioMode = opened
            } else {
                lastBacking += 1
                let backing = BackingID(rawValue: lastBacking)
                ioMode = mode.opened(with: Bool.random(using: &generator) ? backing : nil)
            }
            switch ioMode {
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
