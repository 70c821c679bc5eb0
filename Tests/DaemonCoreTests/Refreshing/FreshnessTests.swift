import Platform
import Testing

@testable import PodcastService
@testable import Transfers

struct FreshnessTests {
    // Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110 §5.6.7.
    private static let now: Int64 = 784_111_777

    private func seconds(_ fields: [String: String]) -> Int64? {
        Freshness.lifetime(ResponseHead(status: 200, fields: fields), now: Self.now)?.seconds
    }

    @Test(
        arguments: [
            ("max-age=600", 600), ("public, Max-Age=600", 600), ("max-age=\"600\"", 600), ("s-maxage=900", 900),
            ("s-maxage=900, max-age=600", 600), ("max-age=600, max-age=5", 600), ("no-cache, max-age=600", 0),
            ("no-store", 0), ("max-age=soon", 0), ("max-age=-1", 0), ("max-age", 0), ("max-age=0", 0),
            ("no-cache=\"set-cookie\", max-age=600", 600), ("max-age = 600 ,, =", 600),
            ("max-age=99999999999999999999", Freshness.longest.seconds), ("public, must-revalidate", nil),
        ] as [(String, Int64?)])
    func cacheControlIsRead(field: String, expected: Int64?) {
        #expect(seconds(["cache-control": field]) == expected)
    }

    @Test func expiresCountsFromTheServersOwnDate() {
        let later = "Sun, 06 Nov 1994 09:49:37 GMT"
        #expect(seconds([:]) == nil)
        #expect(seconds(["expires": later]) == 3_600)
        #expect(seconds(["expires": later, "date": "Sun, 06 Nov 1994 09:39:37 GMT"]) == 600)
        #expect(seconds(["expires": "Sun, 06 Nov 1994 07:49:37 GMT"]) == 0)
        #expect(seconds(["expires": "0"]) == 0)
        #expect(seconds(["expires": later, "cache-control": "max-age=60"]) == 60)
        #expect(seconds(["expires": later, "cache-control": "public"]) == 3_600)
    }

    @Test func theTimeSpentInCachesIsSubtracted() {
        #expect(seconds(["cache-control": "max-age=600", "age": "200"]) == 400)
        #expect(seconds(["cache-control": "max-age=600", "age": "700"]) == 0)
        #expect(seconds(["cache-control": "max-age=31536000", "age": "864000"]) == Freshness.longest.seconds)
        #expect(seconds(["cache-control": "max-age=600", "age": "99999999999999999999"]) == 0)
        #expect(seconds(["cache-control": "max-age=600", "age": "x"]) == 600)
    }

    @Test func retryAfterIsANumberOrADate() {
        func retry(_ fields: [String: String]) -> Int64? {
            Freshness.retryAfter(ResponseHead(status: 503, fields: fields), now: Self.now)?.seconds
        }
        #expect(retry(["retry-after": "120"]) == 120)
        #expect(retry(["retry-after": "Sun, 06 Nov 1994 08:59:37 GMT"]) == 600)
        #expect(
            retry(["retry-after": "Sun, 06 Nov 1994 08:59:37 GMT", "date": "Sun, 06 Nov 1994 08:58:37 GMT"]) == 60)
        #expect(retry(["retry-after": "Sun, 06 Nov 1994 07:00:00 GMT"]) == 0)
        #expect(retry(["retry-after": "later"]) == nil)
        #expect(retry([:]) == nil)
        #expect(retry(["retry-after": "31536000"]) == Freshness.longest.seconds)
        #expect(retry(["retry-after": "99999999999999999999"]) == Freshness.longest.seconds)
    }
}
