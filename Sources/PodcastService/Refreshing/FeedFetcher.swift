internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol
internal import TransferCore
internal import TransferEngine

/// Fetches feeds through the engine and parses them while they arrive.
struct FeedFetcher: Sendable {
    let engine: TransferEngine
    /// What the network brings beyond them is not even received: the feed is cut.
    let limits: FeedLimits

    enum Answer: Sendable {
        case feed(Feed, FeedResponse)
        case notModified(FeedResponse)
    }

    /// An answer, whatever it was.
    struct Retrieved: Sendable {
        var head: ResponseHead
        var chain: RedirectChain
        /// Of a 200 that is a feed.
        var feed: Feed?
        /// The bytes of the same, for who wanted to keep them.
        var document: ArrivingDocument?
        /// Why there is neither a feed nor a 304.
        var problem: FetchFailure?

        var response: FeedResponse { FeedFetcher.response(head, from: chain.final) }
    }

    /// What the library keeps of an answer, which came from this address.
    static func response(_ head: ResponseHead, from url: String) -> FeedResponse {
        FeedResponse(
            // A redirect may lead to an address with user info, which is not to spread to what is made of the answer.
            finalURL: RedactedURL.withoutUserInfo(url), status: head.status, etag: head["etag"],
            lastModified: head["last-modified"], contentType: head["content-type"], space: head.space,
            reach: head.firstSpace)
    }

    /// - Parameters:
    ///   - url: http or https. User info in it is sent as credentials; what is made of the answer does not show it.
    ///   - reach: the most private address space that the address may be in; `nil` for any, as a person gave it.
    ///   - credentials: of the show; they are sent when they fit the address.
    ///   - etag, lastModified: of the document that is known, for a conditional request.
    ///   - timeout: milliseconds to the end of the answer; `nil` for as long as a large feed takes.
    func fetch(
        _ url: String, reach: AddressSpace?, credentials: Credentials? = nil, etag: String? = nil,
        lastModified: String? = nil, timeout: Int64? = nil
    ) async throws -> Answer {
        let found = try await retrieve(
            url, reach: reach, credentials: credentials, etag: etag, lastModified: lastModified, timeout: timeout)
        if let problem = found.problem { throw problem }
        return found.feed.map { .feed($0, found.response) } ?? .notModified(found.response)
    }

    /// As `fetch`, for those who need to know how the answer was come by. Throws `FetchFailure` when there was none.
    func retrieve(
        _ url: String, reach: AddressSpace?, credentials: Credentials? = nil, etag: String? = nil,
        lastModified: String? = nil, userAgent: String? = nil, timeout: Int64? = nil,
        keepingIn documents: FeedDocuments? = nil,
        onProgress: (@Sendable (FeedProgress) -> Void)? = nil
    ) async throws -> Retrieved {
        let inquiry = Inquiry(
            url, reach: reach, credentials: credentials, etag: etag, lastModified: lastModified, userAgent: userAgent,
            timeout: timeout, limits: limits)
        return try await take(
            engine.data(for: inquiry.request), to: inquiry, keepingIn: documents, onProgress: onProgress)
    }

    /// A request for a feed.
    struct Inquiry: Sendable {
        /// As it is asked for.
        let address: PrivateAddress
        let request: DataRequest
        /// Whether a document is known.
        let isConditional: Bool

        private static let accept = (
            "Accept",
            "application/rss+xml, application/atom+xml, application/feed+json;q=0.9, application/json;q=0.8, "
                + "application/rdf+xml;q=0.8, application/xml;q=0.7, text/xml;q=0.7, */*;q=0.1"
        )

        /// - Parameters: as for `retrieve`.
        init(
            _ url: String, reach: AddressSpace?, credentials: Credentials?, etag: String?, lastModified: String?,
            userAgent: String?, timeout: Int64? = nil, limits: FeedLimits
        ) {
            let given = PrivateAddress(url)
            address = PrivateAddress(url: given.url, credentials: given.credentials ?? credentials)
            isConditional = etag != nil || lastModified != nil
            // One byte more tells the parser that the document goes on.
            var request = DataRequest(url: address.url, limit: limits.bytes + 1)
            request.credentials = address.credentials
            request.reach = reach
            request.userAgent = userAgent
            if let timeout { request.timeout = timeout }
            request.fields.append(Self.accept)
            if let etag { request.fields.append(("If-None-Match", etag)) }
            if let lastModified { request.fields.append(("If-Modified-Since", lastModified)) }
            self.request = request
        }
    }

    /// Reads the answer to a request while it arrives. Throws `FetchFailure` when there is none.
    func take(
        _ answer: AsyncThrowingStream<DataEvent, any Error>, to inquiry: Inquiry,
        keepingIn documents: FeedDocuments? = nil, onProgress: (@Sendable (FeedProgress) -> Void)? = nil
    ) async throws -> Retrieved {
        let address = inquiry.address
        let url = address.url
        var head: ResponseHead?
        var parser: FeedParser?
        var document: ArrivingDocument?
        /// Bytes of the document that are still to be kept.
        var room = limits.bytes
        let meter = onProgress.map(FeedMeter.init)
        defer { meter?.end() }
        do {
            for try await event in answer {
                switch event {
                case .head(let found):
                    head = found
                    guard found.status == 200 else { continue }
                    document = documents?.begin()
                    meter?.begin(found)
                    parser = FeedParser(
                        contentType: found["content-type"], base: RedactedURL.withoutUserInfo(found.url ?? url),
                        limits: limits)
                case .bytes(let bytes):
                    bytes.withUnsafeBytes { parser?.parse($0) }
                    document?.append(room < bytes.count ? Array(bytes.prefix(room)) : bytes)
                    room = max(0, room - bytes.count)
                    meter?.advance(by: bytes.count)
                }
            }
        } catch is TransferError where parser?.isFull ?? false {
            // All that is read of a feed has come. It is cut, and says so.
        } catch let error as TransferError {
            let isAway = error.code == .unreachable || error.code == .timedOut
            let advice = isAway ? "; check the address and the network" : ""
            throw FetchFailure(
                status: head?.status, message: "\(address.visible): \(error.message)\(advice)",
                code: error.code)
        }
        guard let head else {
            throw FetchFailure(status: nil, message: "\(address.visible): no answer")
        }
        var found = Retrieved(head: head, chain: Self.chain(url, head))
        if head.status == 304, inquiry.isConditional { return found }
        guard head.status == 200, let parser else {
            found.problem = FetchFailure(status: head.status, message: Self.explain(status: head.status, address))
            return found
        }
        do {
            found.feed = try parser.finish()
            found.document = document
        } catch let error as FeedError {
            found.problem = FetchFailure(status: 200, message: "\(address.visible): \(error)")
        }
        return found
    }

    private static func chain(_ url: String, _ head: ResponseHead) -> RedirectChain {
        let final = head.url ?? url
        let places = head.redirects.dropFirst().map(\.url) + [final]
        let hops = zip(head.redirects, places).map { RedirectHop(status: $0.status, from: $0.url, to: $1) }
        return RedirectChain(requested: url, hops: hops, final: final)
    }

    private static func explain(status: Int, _ address: PrivateAddress) -> String {
        let says = "\(address.visible): the server answered \(status)"
        switch status {
        case 401, 403: return says + ": it wants a name and password, or refuses podfs"
        case 404, 410: return says + ": there is no feed at this address; check it in a browser"
        case 429, 500...599: return says + "; try again later"
        default: return says
        }
    }
}

/// Why a feed could not be had.
struct FetchFailure: Error, Sendable, CustomStringConvertible {
    /// Of the answer, if there was one.
    var status: Int?
    /// One line.
    var message: String
    /// What is there is no show, and asking again will not make it one.
    var isNoShow = false
    /// What kind of failure it was when no whole answer came.
    var code: TransferError.Code?

    var description: String { message }
}
