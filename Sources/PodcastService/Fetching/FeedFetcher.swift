internal import Platform
internal import PodcastFeed
internal import PodcastLibrary
internal import Transfers

/// The client for feeds: fetches them through the engine, and parses them as they arrive.
struct FeedFetcher: Sendable {
    let engine: TransferEngine
    /// Limits of the parser. A response with more than `limits.bytes` bytes is not received to its end, and its feed is
    /// truncated.
    var limits: FeedLimits

    /// A response of any status, and the feed in it.
    struct Retrieved: Sendable {
        var head: ResponseHead
        var chain: RedirectChain
        /// Whether the request had validators.
        var isConditional: Bool
        /// The feed of a response with status 200, or the new part of the feed with status 226.
        var feed: Feed?
        /// The number of bytes of the feed's document that were parsed.
        var size = 0
        /// The bytes of the feed, if the caller stores them.
        var document: ArrivingDocument?
        /// The failure, if there is neither a feed nor a 304 to a conditional request.
        var problem: FetchFailure?

        var response: FeedResponse {
            var response = FeedResponse(head, from: chain.final)
            if let feed { response.isWhole = feed.isWhole }
            return response
        }
    }

    /// Fetches a feed, and returns the response of any status, with its head and redirects. Throws `FetchFailure` if
    /// there was no complete response, and `CancellationError` if the task was cancelled.
    func retrieve(_ asked: FeedRequest, keepingIn documents: FeedDocuments? = nil) async throws -> Retrieved {
        try await receive(engine.data(for: dataRequest(asked)), to: asked, keepingIn: documents)
    }

    /// A request for a feed.
    struct FeedRequest: Sendable {
        /// http or https. User info is sent as credentials and does not appear in results.
        var url: String
        /// The most private address space in which the address may be; `nil` allows any, for an address that a person
        /// entered.
        var reach: AddressSpace?
        /// The show's credentials, sent if they match the address.
        var credentials: Credentials?
        /// The validators of the stored document, for a conditional request.
        var etag: String? = nil
        var lastModified: String? = nil
        var userAgent: String? = nil
        /// The maximum time until the end of the response; `nil` for the engine's default.
        var timeout: Duration? = nil
        /// Whether the server may send a delta against the document with `etag` (RFC 3229).
        var acceptsDelta = false

        /// The requested address.
        var address: PrivateAddress {
            let given = PrivateAddress(url)
            return PrivateAddress(url: given.url, credentials: given.credentials ?? credentials)
        }
        var isConditional: Bool { etag != nil || lastModified != nil }
        /// The entity tag of the document against which the server may send a delta; `nil` requests the whole document.
        var deltaBase: String? { acceptsDelta ? etag : nil }

        /// Returns whether a response is the requested delta: its status is 226, its only instance manipulation is
        /// `feed`, and its base, if stated, is the entity tag that was sent (RFC 3229, sections 10.4.1, 10.5.2 and
        /// 10.5.1).
        func isDelta(_ head: ResponseHead) -> Bool {
            guard head.status == 226, let deltaBase else { return false }
            let manipulation = (head["im"] ?? "").prefix { $0 != ";" }.filter { !$0.isWhitespace }
            return manipulation.lowercased() == "feed" && head["delta-base"].map { $0 == deltaBase } ?? true
        }
    }

    private static let accept =
        "application/rss+xml, application/atom+xml, application/feed+json;q=0.9, application/json;q=0.8, "
        + "application/rdf+xml;q=0.8, application/xml;q=0.7, text/xml;q=0.7, */*;q=0.1"

    func dataRequest(_ asked: FeedRequest) -> DataRequest {
        let address = asked.address
        // The extra byte lets the parser see that the document continues.
        var request = DataRequest(url: address.url, limit: limits.bytes + 1)
        request.credentials = address.credentials
        request.reach = asked.reach
        request.userAgent = asked.userAgent
        if let timeout = asked.timeout { request.timeout = timeout }
        request.fields.append(("Accept", Self.accept))
        if let etag = asked.etag { request.fields.append(("If-None-Match", etag)) }
        if let date = asked.lastModified { request.fields.append(("If-Modified-Since", date)) }
        if asked.deltaBase != nil { request.fields.append(("A-IM", "feed")) }
        return request
    }

    /// Reads the response to a request as it arrives. Throws `FetchFailure` if there is no complete response, and
    /// `CancellationError` if the task was cancelled.
    func receive(
        _ answer: AsyncThrowingStream<DataEvent, any Error>, to feedRequest: FeedRequest,
        keepingIn documents: FeedDocuments? = nil
    ) async throws -> Retrieved {
        let address = feedRequest.address
        let url = address.url
        var head: ResponseHead?
        var parser: FeedParser?
        var document: ArrivingDocument?
        /// Bytes of the document that may still be parsed and stored.
        var room = limits.bytes
        do {
            for try await event in answer {
                switch event {
                case .head(let found):
                    head = found
                    guard found.status == 200 || feedRequest.isDelta(found) else { continue }
                    // A delta is never stored as the document.
                    if found.status == 200 { document = documents?.begin() }
                    parser = FeedParser(
                        contentType: found["content-type"], base: WebAddress.withoutUserInfo(found.url ?? url),
                        limits: limits)
                case .bytes(let bytes):
                    bytes.withUnsafeBytes { parser?.parse($0) }
                    document?.append(room < bytes.count ? Array(bytes.prefix(room)) : bytes)
                    room = max(0, room - bytes.count)
                }
            }
        } catch is TransferError where parser?.isFull ?? false {
            // The size limit was reached: the parser has all bytes that it accepts, and marks the feed as truncated.
        } catch let error as TransferError {
            let isAway = (error.code == .unreachable || error.code == .timedOut) && error.certificate == nil
            let advice = isAway ? "; check the address and the network" : ""
            var failure = FetchFailure(
                status: head?.status, message: "\(address.visible): \(error.message)\(advice)", code: error.code)
            if error.certificate == .rejected { failure.sign = .untrusted }
            if error.code == .unreachable, error.certificate == nil { failure.sign = .unreachable }
            throw failure
        }
        // If this task is cancelled, the sequence ends without an error, possibly in the middle of the feed.
        try Task.checkCancellation()
        guard let head else {
            throw FetchFailure(status: nil, message: "\(address.visible): no answer")
        }
        let chain = RedirectChain(requested: url, hops: head.redirects, final: head.url ?? url)
        var found = Retrieved(head: head, chain: chain, isConditional: feedRequest.isConditional)
        if head.status == 304, feedRequest.isConditional { return found }
        guard head.status == 200 || head.status == 226, let parser else {
            let isGone = FeedMove.isGone(chain: found.chain, head: head)
            let sign: FeedSign =
                switch head.status {
                case 401, 403: .refused
                case 404, 410: isGone ? .ended : .missing
                default: .failed
                }
            found.problem = FetchFailure(
                status: head.status, message: Self.explain(status: head.status, isGone: isGone, address), sign: sign,
                head: head)
            return found
        }
        do {
            found.feed = try parser.finish()
            found.size = limits.bytes - room
            found.document = document
        } catch let error as DocumentError {
            found.problem = FetchFailure(status: head.status, message: "\(address.visible): \(error)")
            if case .html(_, let feeds) = error.problem {
                found.problem?.page = FetchFailure.Page(feeds: feeds, space: head.space)
            }
        }
        return found
    }

    private static func explain(status: Int, isGone: Bool, _ address: PrivateAddress) -> String {
        let says = "\(address.visible): the server answered \(status)"
        switch status {
        case 304: return says + " (not modified) to an unconditional request; try again later"
        case 401, 403: return says + ": it requires a user name and password, or refuses podfs"
        case 404: return says + ": there is no feed at this address; check it in a browser"
        case 410 where !isGone: return says + " after a temporary redirect; try again later"
        case 410: return says + ": the feed has ended; find another one with podfs search"
        case 226: return says + ": a part of the feed that was not requested"
        case 429, 500...599: return says + "; try again later"
        default: return says
        }
    }
}

/// The failure of a feed fetch.
struct FetchFailure: Error, Sendable, CustomStringConvertible {
    /// A web page in place of a feed.
    struct Page: Sendable {
        /// The feeds that the page names.
        var feeds: [WebLink]
        /// The address space from which the page came; no feed that it names may be in a more private one.
        var space: AddressSpace?
    }

    /// The status of the response, if there was one.
    var status: Int?
    /// The message, one line.
    var message: String
    /// The meaning of the failure for the future of the feed.
    var sign = FeedSign.failed
    /// Whether the feed has no audio or video file, so that a retry is pointless.
    var hasNoMedia = false
    /// The kind of failure if no complete response arrived.
    var code: TransferError.Code?
    /// The head of the response, if its status is the failure: it may contain Retry-After.
    var head: ResponseHead?
    /// The web page that was received.
    var page: Page?

    var description: String { message }
}

extension TransferEngine {
    /// Receives a whole response. Throws `TransferError` if it does not arrive, and `CancellationError` if the task was
    /// cancelled.
    func response(to request: DataRequest) async throws -> (head: ResponseHead, body: [UInt8]) {
        var head: ResponseHead?
        var body: [UInt8] = []
        for try await event in data(for: request) {
            switch event {
            case .head(let found): head = found
            case .bytes(let bytes): body += bytes
            }
        }
        // If this task is cancelled, the sequence ends without an error, whatever has arrived.
        try Task.checkCancellation()
        guard let head else { throw TransferError(.failed, "no answer") }
        return (head, body)
    }
}
