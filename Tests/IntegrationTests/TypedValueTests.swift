import Testing

@testable import podfs

/// Parsing of typed values and addresses; no process is started.
struct TypedValueTests {
    @Test(
        arguments: [
            ("90", 90.0), ("90.5", 90.5), ("1:30", 90), ("62:30", 3_750), ("1:02:30", 3_750), ("0:00:01.5", 1.5),
            ("0", 0), (String(repeating: "9", count: 400), .greatestFiniteMagnitude),
            ("1:75", nil), ("1:2:3:4", nil), ("-5", nil), ("", nil), ("1:", nil), ("1.5:00", nil), ("abc", nil),
            ("1e3", nil),
            (" 5", nil), ("0x10", nil), ("inf", nil),
        ] as [(String, Double?)]) func aPositionIsSecondsOrAClockTime(text: String, seconds: Double?)
    {
        #expect(EpisodeSetting.seconds(text) == seconds)
    }

    @Test(arguments: [
        ("example.com/feed.xml", "https://example.com/feed.xml"), ("example.com", "https://example.com"),
        ("localhost:8080/f", "https://localhost:8080/f"), ("example.com:81?x", "https://example.com:81?x"),
        ("feed://example.com/f", "https://example.com/f"), ("feed:https://example.com/f", "https://example.com/f"),
        ("pcast://example.com/f", "https://example.com/f"), ("FEED:http://h/f", "http://h/f"),
        ("<https://example.com/f>", "https://example.com/f"), (" https://example.com/f\n", "https://example.com/f"),
        ("http://example.com/f", "http://example.com/f"), ("ftp://example.com/f", "ftp://example.com/f"),
        ("history of rome", "history of rome"), ("nonsense", "nonsense"), ("a..b/c", "a..b/c"), ("", ""),
        ("x.y:port/z", "x.y:port/z"), ("/no/such/file", "/no/such/file"),
    ]) func anAddressWithoutASchemeMeansHTTPS(typed: String, address: String) throws {
        #expect(try FeedArgument.address(typed) == address)
    }
}
