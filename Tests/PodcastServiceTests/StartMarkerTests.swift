import TestSupport
import Testing

@testable import PodcastService

/// The file whose size is the number of the daemon's failed starts in a row.
struct StartMarkerTests {
    @Test func daemonsThatDidNotBecomeReadyAreCounted() throws {
        let folder = try TemporaryDirectory()
        let marker = StartMarker(path: folder.file("starting"))
        for _ in 0..<2 {
            for count in 0..<3 { #expect(marker.begin() == count) }
            marker.remove()
        }
        // If the marker cannot be written, no earlier start is known.
        let nowhere = StartMarker(path: folder.file("missing/starting"))
        #expect(nowhere.begin() == 0)
        #expect(nowhere.begin() == 0)
    }
}
