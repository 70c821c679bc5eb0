internal import PodcastFeed
internal import PodcastLibrary
internal import TransferCore
internal import TransferEngine

/// A lookup that determines whether a POST whose answer was lost has arrived.
///
/// The lookup sends a GET to the address of the POST. A server that returns the field Idempotency-Key respects it, so
/// the POST can be repeated. Any other should return its list of entries (JSON, or any feed). An entry with the same
/// title and without media is the posted one, and the media are sent to it. If there is no such entry, the POST has not
/// arrived. Without a list, or with several matching entries, a person has to decide.
struct PostedLookup: Sendable {
    let engine: TransferEngine
    let fetcher: FeedFetcher

    /// Maximum number of entries with the same title that are checked.
    private static let mostAlike = 20
    /// Timeout for fetching the list, and for checking the media of an entry.
    private static let timeout = Duration.seconds(60)

    func find(_ upload: Upload, _ credentials: Credentials?) async -> UploadMachine.Finding {
        let list: FeedFetcher.Retrieved
        do {
            list = try await fetcher.retrieve(
                upload.url, reach: nil, credentials: credentials, timeout: Self.timeout)
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
        guard !feed.isCut, feed.next == nil else { return .unknown("its list has several pages") }
        // A server may shorten or normalise a title; one that is merely similar proves nothing.
        let title = Self.core(FeedText.line(upload.title))
        let alike = feed.items.filter { item in
            let other = Self.core(item.title)
            return other.hasPrefix(title) || title.hasPrefix(other)
        }
        guard alike.count <= Self.mostAlike else { return .unknown("it lists several with this title") }
        return await judge(alike, title, reach: head.space, credentials)
    }

    private static func core(_ title: String?) -> String {
        (title ?? "").lowercased().filter { $0.isLetter || $0.isNumber }
    }

    private func judge(
        _ alike: [Item], _ title: String, reach: AddressSpace?, _ credentials: Credentials?
    ) async -> UploadMachine.Finding {
        var waiting: [String] = []
        var isSure = true
        for item in alike {
            guard let url = item.enclosures.first?.url, Credentials.origin(of: url) != nil else {
                return .unknown("it lists one with this title, but does not say where its media are")
            }
            switch await hasMedia(url, reach: reach, credentials) {
            case .yes: continue
            case .no:
                waiting.append(url)
                isSure = isSure && Self.core(item.title) == title
            case .later(let error): return .later(error, after: nil)
            }
        }
        switch waiting.count {
        case 0: return .repeatable
        case 1 where isSure: return .arrived(location: waiting[0])
        default: return .unknown("it has \(waiting.count) of this or a similar title without media")
        }
    }

    private enum Presence {
        case yes, no
        case later(TransferError)
    }

    /// Returns whether the server has media at an address. Requests the first byte, and reads only the answer's head.
    private func hasMedia(
        _ url: String, reach: AddressSpace?, _ credentials: Credentials?
    ) async -> Presence {
        var request = DataRequest(url: url, limit: 1 << 20)
        request.credentials = credentials
        request.reach = reach
        request.timeout = Self.timeout
        request.fields.append(("Range", "bytes=0-0"))
        do {
            for try await event in engine.data(for: request) {
                guard case .head(let head) = event else { continue }
                switch head.status {
                case 200 where head.contentLength == 0: return .no
                case 200, 206: return .yes
                case 204, 404, 409, 410, 416: return .no
                default:
                    return .later(TransferError(.failed, "the server answered \(head.status) to the request for media"))
                }
            }
            return .later(TransferError(.failed, "no answer"))
        } catch {
            return .later(error as? TransferError ?? TransferError(.failed, "\(error)"))
        }
    }
}
