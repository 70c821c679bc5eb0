import Foundation
import Testing

@testable import Transfers

@Suite struct ResumeDataTests {
    private let data = ResumeData(
        key: 7, generation: 2, total: 10_000, validator: "etag:\"v1\"", present: "0-999,5000-5999",
        url: "http://example.org/a.mp3")

    @Test func resumeDataFitsOnlyItsRendition() {
        #expect(data.fits(generation: 2, validator: "etag:\"v1\"", total: 10_000))
        #expect(data.fits(generation: 2, validator: nil, total: nil), "nothing contradicts it")
        #expect(!data.fits(generation: 3, validator: "etag:\"v1\"", total: 10_000))
        #expect(!data.fits(generation: 2, validator: "etag:\"v2\"", total: 10_000))
        #expect(!data.fits(generation: 2, validator: "etag:\"v1\"", total: 10_001))
    }

    @Test func unknownFactsContradictNothing() {
        let data = ResumeData(key: 7, generation: 2, present: "0-999", url: "http://example.org/a.mp3")
        #expect(data.fits(generation: 2, validator: "etag:\"v2\"", total: 1_000))
        #expect(!data.fits(generation: 2, validator: nil, total: 999), "it is larger than the file")
    }

    @Test(arguments: ["", "nonsense", "5-4", "0-9,3-12"]) func damagedRangesFitNothing(present: String) {
        var data = data
        data.present = present
        #expect(!data.fits(generation: 2, validator: nil, total: nil))
    }

    @Test func anotherFormatFitsNothing() {
        var data = data
        data.version = 2
        #expect(!data.fits(generation: 2, validator: nil, total: nil))
    }

    @Test func resumeDataSurvivesItsEncoding() throws {
        let encoded = try JSONEncoder().encode(data)
        #expect(try JSONDecoder().decode(ResumeData.self, from: encoded) == data)
    }
}
