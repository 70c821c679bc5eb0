internal import Platform
internal import PodcastFeed
internal import PodcastLibrary
internal import Transfers

/// A lookup that determines whether a POST whose response was lost has reached the server.
///
/// The lookup sends a GET to the address of the POST. A server whose response has the header field Idempotency-Key
/// honors that field, so the POST can be repeated. Any other server should return its list of entries (JSON, or any
/// feed). An entry matches if its title begins with the upload's title, or the other way round.
///
/// The media are sent after the POST, so the entry that the POST has created has none yet. If every match has media, or
/// there is no match, the POST has not arrived. If exactly one match has no media and its title is the same, it is the
/// posted entry, and the media are sent to it. In all other cases, and without a complete list, a person has to decide.
/// After a failed request the lookup is repeated later.
///
/// Titles are compared by their letters and digits. A title without letters and digits matches every other title, but
/// is never treated as the same, so it cannot identify the posted entry.
struct PostedLookup: Sendable {
    let engine: TransferEngine
    let fetcher: FeedFetcher

    /// Maximum number of entries with the same or a similar title. If there are more, none is checked.
    private static let maxMatches = 20
    /// Timeout for fetching the list, and for checking the media of each entry.
    private static let timeout = Duration.seconds(60)

    /// Determines whether the server has received the POST of an upload.
    func find(_ upload: Upload, _ credentials: Credentials?) async -> UploadMachine.Finding {
        let list: FeedFetcher.Retrieved
        do {
            list = try await fetcher.retrieve(
                .init(url: upload.url, reach: nil, credentials: credentials, timeout: Self.timeout))
        } catch let failure as FetchFailure {
            return .later(TransferError(failure.code ?? .failed, failure.message), after: nil)
        } catch {
            return .later(TransferError(.failed, "\(error)"), after: nil)
        }
        let head = list.head
        if head["idempotency-key"] != nil { return .repeatable }
        if [408, 425, 429].contains(head.status) || head.status >= 500 {
            return .later(
                TransferError(.failed, "the server answered \(head.status) to the request for its list"),
                after: head.retryAfter)
        }
        guard let feed = list.feed else {
            return .unknown(
                head.status == 200
                    ? "its list cannot be read" : "it answered \(head.status) to the request for its list")
        }
        guard !feed.isCut, feed.next == nil else { return .unknown("it sent only a part of its list") }
        // A server may shorten or normalize a title, so similar titles match. A similar title alone is
        // no proof: see `isExactMatch`.
        let title = Self.normalizedTitle(FeedText.line(upload.title))
        let matches = feed.items.filter { item in
            let other = Self.normalizedTitle(item.title)
            return other.hasPrefix(title) || title.hasPrefix(other)
        }
        guard matches.count <= Self.maxMatches else {
            return .unknown("it lists many entries with this or a similar title")
        }
        return await finding(matches, title, reach: head.space, credentials)
    }

    /// Returns the letters and digits of a title in lower case.
    private static func normalizedTitle(_ title: String?) -> String {
        (title ?? "").lowercased().filter { $0.isLetter || $0.isNumber }
    }

    /// Checks which of the matching entries have media.
    private func finding(
        _ matches: [Item], _ title: String, reach: AddressSpace?, _ credentials: Credentials?
    ) async -> UploadMachine.Finding {
        var withoutMedia: [String] = []
        var isExactMatch = !title.isEmpty
        for item in matches {
            guard let url = item.enclosures.first?.url, WebAddress.origin(of: url) != nil else {
                return .unknown("it lists an entry with this or a similar title, but does not say where its media are")
            }
            do {
                if try await hasMedia(url, reach: reach, credentials) { continue }
            } catch {
                return .later(error as? TransferError ?? TransferError(.failed, "\(error)"), after: nil)
            }
            withoutMedia.append(url)
            isExactMatch = isExactMatch && Self.normalizedTitle(item.title) == title
        }
        switch withoutMedia.count {
        case 0: return .repeatable
        case 1 where isExactMatch: return .arrived(location: withoutMedia[0])
        case 1: return .unknown("it lists one entry with this or a similar title, without media")
        case let count: return .unknown("it lists \(count) entries with this or a similar title, without media")
        }
    }

    /// Returns whether the server has media at an address. Requests the first byte, and reads only the response's head.
    private func hasMedia(_ url: String, reach: AddressSpace?, _ credentials: Credentials?) async throws -> Bool {
        var request = DataRequest(url: url, limit: 1 << 20)
        request.credentials = credentials
        request.reach = reach
        request.timeout = Self.timeout
        request.fields.append(("Range", "bytes=0-0"))
        for try await case .head(let head) in engine.data(for: request) {
            switch head.status {
            case 200 where head.contentLength == 0: return false
            case 200, 206: return true
            case 204, 404, 409, 410, 416: return false
            default: throw TransferError(.failed, "the server answered \(head.status) to the request for media")
            }
        }
        throw TransferError(.failed, "no answer")
    }
}
