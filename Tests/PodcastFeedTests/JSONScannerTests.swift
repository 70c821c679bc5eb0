import Foundation
import Testing

@testable import PodcastFeed

@Suite struct JSONScannerTests {
    private func value(_ text: String) throws -> JSONScanner.Value {
        var scanner = JSONScanner(Array(text.utf8))
        let value = try scanner.value()
        guard scanner.peek() == nil else { throw JSONScanner.Fault(line: 0) }
        return value
    }

    /// Converts values to Foundation's types, for comparison with its parser.
    private func object(_ value: JSONScanner.Value) -> Any {
        switch value {
        case .null: NSNull()
        case .bool(let bool): bool
        case .number(let number): number
        case .string(let text): String(decoding: text, as: UTF8.self)
        case .array(let elements): elements.map { object($0) }
        case .object(let members):
            Dictionary(
                members.map { (String(decoding: $0.name, as: UTF8.self), object($0.value)) }, uniquingKeysWith: { $1 })
        }
    }

    @Test(arguments: [
        "{}", "[]", "[null, true ,false]", #"{"a":[1,-2.5,3e2,0.1E-1,1e308],"b":{"c":{"d":[[]]}}}"#,
        #"["\n\t\r\b\f\"\\\/\u0041\u00e9\u6F22\ud83c\udf99"]"#, "[\"é漢🎙\u{7F}\"]", " \r\n\t[ 1 ] ",
    ])
    func valueIsWhatFoundationReads(text: String) throws {
        let expected = try JSONSerialization.jsonObject(with: Data(text.utf8))
        #expect((object(try value(text)) as? NSObject) == (expected as? NSObject), "\(text)")
    }

    @Test(arguments: [
        "", "{", "}", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{a:1}", "[1 2]", "[tru]", "[nul", "[+1]", "[1e]", "[.]",
        "[\"a]", "[\"\\x\"]", "[\"\\u12\"]", "[\"\\u12g4\"]", "[NaN]", "['a']", "[1]]", "\"\\",
        String(repeating: "[", count: 300), String(repeating: "9", count: 1000),
    ])
    func invalidJSONIsAFault(text: String) {
        #expect(throws: JSONScanner.Fault.self) { try value(text) }
    }

    @Test func halfASurrogatePairIsAReplacementCharacter() throws {
        guard case .array(let values) = try value(#"["\ud83cx","\udf99","\ud83c\u0041","\ud83c\ud83c\udf99"]"#) else {
            Issue.record("no array")
            return
        }
        let texts = values.map { object($0) as? String }
        #expect(texts == ["\u{FFFD}x", "\u{FFFD}", "\u{FFFD}A", "\u{FFFD}🎙"])
    }
}
