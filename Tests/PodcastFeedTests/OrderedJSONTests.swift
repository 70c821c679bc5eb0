import Foundation
import PodcastFeed
import Testing

@Suite struct OrderedJSONTests {
    private func text(_ value: OrderedJSON, pretty: Bool = false) -> String {
        String(decoding: value.encoded(pretty: pretty), as: UTF8.self)
    }

    @Test func membersKeepTheirOrder() {
        let value = OrderedJSON.object([("z", .int(1)), ("a", .array([.null, .bool(true)])), ("m", .object([]))])
        #expect(text(value) == #"{"z":1,"a":[null,true],"m":{}}"#)
        #expect(
            text(value, pretty: true) == """
                {
                  "z": 1,
                  "a": [
                    null,
                    true
                  ],
                  "m": {}
                }
                """)
    }

    @Test func everyCharacterSurvives() throws {
        let scalars = (0..<0x300).compactMap { Unicode.Scalar(UInt32($0)) }
        let all = String(String.UnicodeScalarView(scalars)) + "\u{2028}🎙\\\"/"
        let bytes = OrderedJSON.array([.string(all)]).encoded(pretty: false)
        #expect(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String] == [all])
        #expect(!bytes.contains { $0 < 0x20 })
        #expect(text(.string("a\u{1}\n\"\\\u{1F}")) == #""a\u0001\n\"\\\u001f""#)
    }

    @Test func integralNumbersHaveNoFraction() {
        #expect(text(.double(1800)) == "1800")
        #expect(text(.double(52.3)) == "52.3")
        #expect(text(.double(-0.5)) == "-0.5")
        #expect(text(.double(.infinity)) == "null")
        #expect(text(.double(.nan)) == "null")
        #expect(text(.int(.max)) == "9223372036854775807")
    }

    @Test func absentValuesAreNull() {
        #expect(text(.string(orNull: nil)) == "null")
        #expect(text(.int(orNull: nil as Int?)) == "null")
        #expect(text(.double(orNull: 1.5)) == "1.5")
    }
}
