internal import PodcastFeed
internal import PodcastLibrary
internal import TransferCore
internal import TransferEngine

/// Finds out whether a POST has arrived whose answer was lost.
///
/// A server that names the field Idempotency-Key in an answer heeds it: there the POST may simply be sent again. Any other
/// is asked for its list, at the address that was posted to (JSON, or any feed). An entry of the same title whose media are
/// not there yet is what was posted: the media go to it. None means that nothing has arrived. Where there is no list, or
/// several entries fit, only a person can tell.
struct PostedLookup: Sendable {
    let engine: TransferEngine
    let fetcher: FeedFetcher

    /// Entries of one title that are looked at.
    private static let mostAlike = 20
    /// How long the list, or a look at an entry's media, may take, in milliseconds.
    private static let timeout: Int64 = 60_000

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
        if head["idempotency-key"] != nil { return .mayRepeat }
        if [408, 425, 429].contains(head.status) || head.status >= 500 {
            return .later(
                TransferError(.failed, "the server answered \(head.status) when asked for its list"),
                after: head.retryAfter)
        }
        guard let feed = list.feed else {
            return .unknown(
                head.status == 200 ? "its list cannot be read" : "it answered \(head.status) when asked for its list")
        }
        guard !feed.isCut, feed.next == nil else { return .unknown("it does not list all at once") }
        // A server may shorten or tidy a title; one that only resembles it is no proof either way.
        let title = Self.core(FeedText.line(upload.title))
        let alike = feed.items.filter { item in
            let other = Self.core(item.title)
            return other.hasPrefix(title) || title.hasPrefix(other)
        }
        guard alike.count <= Self.mostAlike else { return .unknown("it has many of this title") }
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
                return .unknown("it has one of this title, but does not say where its media are")
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
        case 0: return .mayRepeat
        case 1 where isSure: return .arrived(location: waiting[0])
        default: return .unknown("it has \(waiting.count) of this or a similar title without media")
        }
    }

    private enum Presence {
        case yes, no
        case later(TransferError)
    }

    /// Asks for the first byte, and takes no more than the head of the answer.
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
                    return .later(TransferError(.failed, "the server answered \(head.status) when asked for media"))
                }
            }
            return .later(TransferError(.failed, "no answer"))
        } catch {
            return .later(error as? TransferError ?? TransferError(.failed, "\(error)"))
        }
    }
}
