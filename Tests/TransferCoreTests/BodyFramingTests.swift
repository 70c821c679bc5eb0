import Testing

@testable import Transfers

/// RFC 9112 §6.3 as a table: values of Content-Length and Transfer-Encoding, with repeated lines joined by commas.
@Suite struct BodyFramingTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var length: String?
        var coding: String?
        var framing: BodyFraming
        var testDescription: String { "length \(length ?? "-"), coding \(coding ?? "-")" }

        init(_ length: String?, _ coding: String?, _ framing: BodyFraming) {
            self.length = length
            self.coding = coding
            self.framing = framing
        }

        init(_ length: String?, _ framing: BodyFraming) { self.init(length, nil, framing) }
    }

    private static let noNumber = BodyFraming.invalid("the server sent a Content-Length that is not a number")
    private static let twoLengths = BodyFraming.invalid("the server sent two different Content-Lengths")

    static let cases: [Case] = [
        Case(nil, .untilClose), Case("0", .length(0)), Case("10", .length(10)), Case("0010", .length(10)),
        // A list of equal numbers is one length, whatever their spelling.
        Case("10, 10", .length(10)), Case("10,10", .length(10)), Case("10 ,\t10, 10", .length(10)),
        Case("10, 010", .length(10)), Case("10, 20", twoLengths), Case("10, 10, 11", twoLengths),
        Case("10,", noNumber), Case(",10", noNumber), Case("10, , 10", noNumber), Case("10, x", noNumber),
        // A number consists of ASCII digits only.
        Case("", noNumber), Case(" ", noNumber), Case("+10", noNumber), Case("-10", noNumber), Case("-0", noNumber),
        Case("1 0", noNumber), Case("10 bytes", noNumber), Case("0x10", noNumber), Case("1e3", noNumber),
        Case("10.0", noNumber), Case("10;10", noNumber), Case("\u{0661}\u{0660}", noNumber), Case("ten", noNumber),
        // A length that no file can have is excessive: the limit is 2^44 bytes.
        Case("17592186044416", .length(1 << 44)), Case("17592186044417", .excessive("17592186044417")),
        Case("9223372036854775807", .excessive("9223372036854775807")),
        Case("9223372036854775808", .excessive("9223372036854775808")),
        Case("18446744073709551626", .excessive("18446744073709551626")),
        Case("00018446744073709551626", .excessive("18446744073709551626")),
        Case("18446744073709551626, 18446744073709551626", .excessive("18446744073709551626")),
        Case("18446744073709551626, 10", twoLengths), Case("-9223372036854775809", noNumber),
        // `chunked` overrides any Content-Length, `identity` has no effect, and every other coding is an error.
        Case(nil, "chunked", .chunked), Case("10", "chunked", .chunked), Case("10, 20", "chunked", .chunked),
        Case("ten", "Chunked", .chunked), Case("9223372036854775808", " chunked ", .chunked),
        Case("10", "identity", .length(10)), Case(nil, "", .untilClose),
        Case("10", "identity, chunked", .chunked),
        Case("10", "gzip", .invalid("the server sent Transfer-Encoding gzip")),
        Case(nil, "gzip, chunked", .invalid("the server sent Transfer-Encoding gzip, chunked")),
        Case(nil, "chunked, gzip", .invalid("the server sent Transfer-Encoding chunked, gzip")),
        Case("10", "chunked, chunked", .invalid("the server sent Transfer-Encoding chunked, chunked")),
        Case("10", "xchunked", .invalid("the server sent Transfer-Encoding xchunked")),
    ]

    @Test(arguments: cases) func fieldsSayWhereTheBodyEnds(_ value: Case) {
        #expect(BodyFraming(length: value.length, coding: value.coding) == value.framing)
        var head = ResponseHead(status: 200)
        head.fields["content-length"] = value.length
        head.fields["transfer-encoding"] = value.coding
        #expect(head.framing == value.framing)
    }
}
