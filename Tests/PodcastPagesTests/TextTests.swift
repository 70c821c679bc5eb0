import Foundation
import Platform
import PodcastPages
import Testing

struct ByteTextTests {
    @Test(
        arguments: [
            (0, "0 B"), (1, "1 B"), (1_023, "1023 B"), (1_024, "1.0 KiB"), (1_075, "1.0 KiB"), (1_076, "1.1 KiB"),
            (1_536, "1.5 KiB"), (97_622_426, "93.1 MiB"), (1_048_575, "1.0 MiB"), (1_048_576, "1.0 MiB"),
            (1_048_524, "1023.9 KiB"), (1_073_741_823, "1.0 GiB"), (10_737_418_240, "10.0 GiB"),
            (1_099_511_627_776, "1.0 TiB"), (1_125_899_906_842_624, "1024.0 TiB"), (.max, "8388608.0 TiB"),
        ] as [(Int64, String)])
    func sizesAreInPowersOf1024(bytes: Int64, text: String) { #expect(ByteText.size(bytes) == text) }

    @Test func ratesAreSizesASecond() {
        #expect(ByteText.rate(0) == "0 B/s")
        #expect(ByteText.rate(1_023.9) == "1023 B/s")
        #expect(ByteText.rate(3_145_728) == "3.0 MiB/s")
        #expect(ByteText.rate(.infinity) == "8388608.0 TiB/s")
        #expect(ByteText.rate(.nan) == "0 B/s")
    }
}

struct TimeTextTests {
    @Test func momentsAgreeWithFoundationsCalendar() {
        let format = ISO8601DateFormatter()
        // Every 11 days and some hours from 1600 to 2400: all months, leap years and centuries.
        var moment: Int64 = -11_676_096_000
        while moment < 13_569_465_600 {
            let expected = format.string(from: Date(timeIntervalSince1970: TimeInterval(moment)))
            #expect(TimeText.iso8601(moment) == expected)
            moment += 11 * 86_400 + 12_345
        }
    }

    @Test(
        arguments: [
            (0, "0s"), (7.9, "7s"), (59.99, "59s"), (60, "1m00s"), (200, "3m20s"), (3_599, "59m59s"), (3_600, "1h00m"),
            (3_900, "1h05m"), (360_000, "100h00m"), (-1, "-"), (.infinity, "-"), (.nan, "-"), (1e9, "-"),
        ] as [(Double, String)])
    func durationsHaveAShortForm(seconds: Double, text: String) { #expect(TimeText.duration(seconds) == text) }
}

struct ProgressBarTests {
    @Test func theBarGrowsAndIsFullOnlyAtTheEnd() {
        #expect(ProgressBar.text(0, width: 10) == "[..........]")
        #expect(ProgressBar.text(9.9, width: 10) == "[..........]")
        #expect(ProgressBar.text(10, width: 10) == "[#.........]")
        #expect(ProgressBar.text(99.99, width: 10) == "[#########.]")
        #expect(ProgressBar.text(100, width: 10) == "[##########]")
    }

    @Test func theBarKeepsItsWidth() {
        for percent in [nil, -20, 0, 33.3, 100, 250] as [Double?] {
            #expect(ProgressBar.text(percent, width: 17).count == 19)
        }
        #expect(ProgressBar.text(nil, width: 3) == "[???]")
    }
}
