import Testing

@testable import Transfers

/// RFC 9112 §6.3 as a table: values of Content-Length and Transfer-Encoding, with repeated lines joined by commas.
@Suite struct BodyFramingTests {
    private static let noSize = BodyFraming.invalid(
        "the server sent a Content-Length that is not the size of a file")
    private static let twoLengths = BodyFraming.invalid("the server sent two different Content-Lengths")

    static let cases: [(String?, String?, BodyFraming)] = [
        (nil, nil, .untilClose), ("0", nil, .length(0)), ("0010", nil, .length(10)),
        // A list of equal numbers is one length, whatever their spelling.
        ("10 ,\t010,10", nil, .length(10)), ("10, 20", nil, twoLengths), ("10,", nil, twoLengths),
        ("10, x", nil, twoLengths), ("18446744073709551626, 10", nil, twoLengths),
        // A number consists of ASCII digits only, and no file has more than 2^44 bytes.
        ("", nil, noSize), ("+10", nil, noSize), ("-0", nil, noSize), ("1 0", nil, noSize), ("0x10", nil, noSize),
        ("10.0", nil, noSize), ("10;10", nil, noSize), ("\u{0661}\u{0660}", nil, noSize),
        ("17592186044416", nil, .length(1 << 44)), ("17592186044417", nil, noSize),
        ("18446744073709551626", nil, noSize),
        // `chunked` overrides any Content-Length, `identity` has no effect, and every other coding is an error.
        (nil, "chunked", .chunked), ("10, 20", "chunked", .chunked), ("ten", " Chunked ", .chunked),
        ("10", "identity", .length(10)), (nil, "", .untilClose), ("10", "identity, chunked", .chunked),
        ("10", "gzip", .invalid("the server sent Transfer-Encoding gzip")),
        (nil, "gzip, chunked", .invalid("the server sent Transfer-Encoding gzip, chunked")),
        ("10", "chunked, chunked", .invalid("the server sent Transfer-Encoding chunked, chunked")),
        ("10", "xchunked", .invalid("the server sent Transfer-Encoding xchunked")),
    ]

    @Test(arguments: cases) func fieldsSayWhereTheBodyEnds(length: String?, coding: String?, framing: BodyFraming) {
        var head = ResponseHead(status: 200)
        head.fields["content-length"] = length
        head.fields["transfer-encoding"] = coding
        #expect(head.framing == framing)
    }
}
