internal import Foundation
internal import Platform
internal import PodcastFeed
internal import PodcastProtocol
internal import Transfers

/// Functions for all catalogues (podcast directories that can be searched). They build request URLs, and parse
/// responses, which are untrusted JSON of limited size.
enum CatalogueAnswer {
    /// Maximum number of entries per response: the maximum of the iTunes Search API, and more than anyone reads.
    static let limit = 200

    /// Maximum size of a response in bytes, to be set as the request's limit. An entry of either catalogue takes 2 to
    /// 4 KiB, or more with a long description.
    static let largest = 8 << 20

    /// Returns the objects of a list in the response's outermost object; other elements are skipped.
    ///
    /// - Parameters:
    ///   - key: the name of the list.
    ///   - single: the name of a member that has one object in place of a list.
    ///   - errorKey: the member in which the catalogue explains an error, if it does.
    static func objects(
        _ key: String, or single: String? = nil, errorKey: String, head: ResponseHead, body: [UInt8], catalogue: String
    ) throws(CatalogueError) -> [[String: Any]] {
        func failure(_ message: String) -> CatalogueError { CatalogueError(catalogue: catalogue, message: message) }
        guard body.count <= largest else { throw failure("the answer is larger than \(largest >> 20) MiB") }
        let document = (try? JSONSerialization.jsonObject(with: Data(DocumentStart.text(body)))) as? [String: Any]
        guard head.status == 200 else {
            let says = (document?[errorKey] as? String).flatMap(FoundShow.line).map { ": \($0.prefix(200))" }
            throw failure(explain(head.status) + (says ?? ""))
        }
        guard let document else {
            if body.isEmpty { throw failure("the answer is empty") }
            let isPage = head.mediaType == "text/html" || DocumentStart.isMarkup(body)
            throw failure(
                isPage
                    ? "the server sent a web page instead of results; a login page may be intercepting the connection"
                    : "the answer cannot be read: it is not the JSON that was expected")
        }
        if let single, let object = document[single] as? [String: Any] { return [object] }
        guard let list = document[key] as? [Any] else {
            if let says = (document[errorKey] as? String).flatMap(FoundShow.line) {
                throw failure("the search was refused: \(says.prefix(200))")
            }
            throw failure("the answer has no list '\(key)'")
        }
        return list.lazy.compactMap { $0 as? [String: Any] }
    }

    private static func explain(_ status: Int) -> String {
        let says = "the server answered \(status)"
        return switch status {
        case 401, 403: says + ": it refuses the API key, or refuses requests of podfs"
        case 429: says + ": too many searches; wait a minute"
        case 500...599: says + "; try again later"
        default: says
        }
    }

    /// Returns a whole number, which may be written as text. Rounds a JSON number with a fraction. Returns 1 for
    /// `true`, because Foundation converts it to a number.
    static func number(_ value: Any?) -> Int? {
        if let text = value as? String { return Int(text) }
        return (value as? Double).flatMap { Int(exactly: $0.rounded()) }
    }

    /// Appends parameters to a URL, which may already have some, and removes its fragment.
    static func address(_ base: String, _ parameters: [(String, String)]) -> String {
        let base = base.prefix { $0 != "#" }
        let query = parameters.map { "\($0)=\($1.percentEncoded)" }.joined(separator: "&")
        guard base.contains("?") else { return "\(base)?\(query)" }
        return base.hasSuffix("?") || base.hasSuffix("&") ? base + query : "\(base)&\(query)"
    }
}
