internal import CCurl
internal import Platform

/// The owner of a transfer, which receives its events. All but the end are received while curl is active, so that their
/// handlers must not call curl.
protocol EasyHandleReceiver: AnyObject {
    /// Receives the head of the final response: followed redirects and interim responses are not reported.
    func easyHandle(_ handle: EasyHandle, didReceiveHead head: ResponseHead)
    /// Receives a piece of the body.
    func easyHandle(_ handle: EasyHandle, didReceive bytes: UnsafeRawBufferPointer) -> EasyHandle.Verdict
    /// Receives the result; `handle` is no longer in curl's hands.
    func easyHandle(_ handle: EasyHandle, didEnd code: CurlCode)
}

/// One HTTP exchange, over libcurl's easy interface.
///
/// Confined to the engine's thread. curl's callbacks get an unretained pointer to this object as their context. The
/// pointer is valid in every callback: a transfer only runs in a `Exchanges`, which retains this object meanwhile,
/// and `deinit` cleans up curl's handle.
final class EasyHandle {
    /// The result of processing a piece of the body.
    enum Verdict {
        case accepted
        /// The piece was not processed: curl delivers it again after `resume()`.
        case pause
        /// Ends the transfer.
        case stop
    }

    /// curl's handle.
    let pointer: UnsafeMutableRawPointer
    weak var receiver: (any EasyHandleReceiver)?
    /// The body of a PUT or PATCH; curl's callbacks access it through this handle.
    let body: UploadBody?
    /// The form of a POST. curl reads it while the handle runs.
    var form: OpaquePointer?
    /// The request's header fields.
    private var fieldList: UnsafeMutablePointer<curl_slist>?
    /// The list for CURLOPT_RESOLVE: host names with the addresses that replace their DNS results.
    private var resolved: UnsafeMutablePointer<curl_slist>?
    /// The check of the addresses that curl connects to.
    var trail: ReachTrail
    /// The lines of the head that is being received.
    private var head: [UInt8] = []
    private(set) var hasReportedHead = false
    private(set) var redirects: [ResponseHead.Redirect] = []
    /// The size in bytes of all heads received so far.
    private var headSize = 0
    /// The reason why the response was rejected before its body.
    private(set) var rejection: TransferError?
    private let followsRedirects: Bool
    /// The initial value of `trail`, for a repetition of the request.
    private let reach: ReachTrail
    let network: NetworkConfiguration
    /// Whether the request may be repeated: it has no body, and has not been repeated yet.
    private var canRepeat: Bool
    /// Whether curl may still repeat the request without its Expect field, after a 417 (Expectation Failed).
    private var canRepeatWithoutExpect: Bool
    private(set) var isPaused = false
    /// Whether the request has neither credentials nor a body; only then is curl's handle reusable.
    private let isPlain: Bool
    /// Whether another object owns curl's handle now.
    private var isSurrendered = false

    /// The size of curl's receive buffer in bytes. With 512 KiB, receiving a GiB takes a quarter of the processor time
    /// that it takes with the default of 16 KiB.
    private static let receiveBuffer = 512 * 1024
    /// The total size in bytes that more than eight handles share. A handle's share is fixed when it starts, so a
    /// hundred handles that start one after another use 15 MB instead of 52.
    private static let sharedReceiveBuffer = 4 * 1024 * 1024
    /// The minimum share, four times curl's default. Also the buffer of responses that are received in memory, most of
    /// which are small: a larger buffer would be mapped and unmapped for each.
    private static let smallReceiveBuffer = 64 * 1024
    /// The minimum in bytes that curl accepts.
    private static let smallestReceiveBuffer = 1_024
    /// The maximum number of redirects; tracking prefixes chain up to seven.
    private static let maxRedirects = 10

    /// - Parameter idle: A surrendered handle, owned by this object from now on.
    init?(
        _ request: DataRequest, _ method: Method = .get, in configuration: TransferConfiguration,
        reusing idle: UnsafeMutableRawPointer? = nil
    ) {
        guard CurlGlobal.isReady, let handle = idle ?? curl_easy_init() else { return nil }
        pointer = handle
        network = configuration.network
        reach = ReachTrail(policy: network.reach, limit: request.reach)
        trail = reach
        followsRedirects = request.followsRedirects
        if case .send(_, let body) = method { self.body = body } else { body = nil }
        canRepeatWithoutExpect = method.sendsBody
        canRepeat = request.body == nil && !method.sendsBody
        isPlain = request.credentials == nil && request.body == nil && !method.sendsBody
        configure(request, method, configuration)
        for answer in network.resolved() { resolved = curl_slist_append(resolved, answer) }
        if let resolved { ccurl_set_list(pointer, CURLOPT_RESOLVE, resolved) }
    }

    deinit {
        if !isSurrendered { curl_easy_cleanup(pointer) }
        curl_slist_free_all(fieldList)
        curl_slist_free_all(resolved)
        if let form { curl_mime_free(form) }
    }

    /// Refuses the request or the response for this reason, whatever curl reports.
    func reject(_ error: TransferError) { rejection = rejection ?? error }

    /// Resets curl's handle and surrenders it for reuse, since creating one takes longer than all other work for a
    /// small response. Call after the transfer has ended and was removed; this object no longer uses the handle.
    ///
    /// - Returns: `nil` if the handle is not reusable, since its request was not plain.
    func surrender() -> UnsafeMutableRawPointer? {
        guard !isSurrendered, isPlain else { return nil }
        isSurrendered = true
        curl_easy_reset(pointer)
        return pointer
    }

    private func configure(_ request: DataRequest, _ method: Method, _ configuration: TransferConfiguration) {
        let handle = pointer
        let stall = configuration.limits.stall
        if let problem = WebAddress.problem(with: request.url) {
            // Without a URL curl ends the transfer at once (CURLE_URL_MALFORMAT).
            reject(TransferError(.unusable, "its address \(problem)"))
        } else {
            ccurl_set_string(handle, CURLOPT_URL, request.url)
        }
        ccurl_set_web_only(handle)
        ccurl_set_long(handle, CURLOPT_FOLLOWLOCATION, followsRedirects ? 1 : 0)
        ccurl_set_long(handle, CURLOPT_MAXREDIRS, Self.maxRedirects)
        ccurl_set_long(handle, CURLOPT_NOSIGNAL, 1)
        let buffer =
            request.decodes
            ? Self.smallReceiveBuffer : Self.receiveBuffer(rateLimit: request.rateLimit, others: request.others)
        ccurl_set_long(handle, CURLOPT_BUFFERSIZE, buffer)
        ccurl_set_long(handle, CURLOPT_CONNECTTIMEOUT_MS, Int((request.connectTimeout ?? stall).milliseconds))
        ccurl_set_long(handle, CURLOPT_LOW_SPEED_LIMIT, 1)
        ccurl_set_long(handle, CURLOPT_LOW_SPEED_TIME, max(1, Int(stall.seconds)) * request.stallFactor)
        ccurl_set_long(handle, CURLOPT_TCP_KEEPALIVE, 1)
        if let timeout = request.timeout { ccurl_set_long(handle, CURLOPT_TIMEOUT_MS, Int(timeout.milliseconds)) }
        configureReach()
        configureAuthorities()
        if let credentials = request.credentials, credentials.fit(request.url) {
            ccurl_set_auth_basic(handle)
            ccurl_set_string(handle, CURLOPT_USERNAME, credentials.user)
            ccurl_set_string(handle, CURLOPT_PASSWORD, credentials.password)
        }
        // HTTP/2 is not offered. With several streams in one connection, a paused stream would either be buffered
        // without limit or block the others. And libcurl 7.88 trusts servers too much: endless empty DATA or
        // WINDOW_UPDATE frames keep the transfer thread in one call for half a minute, beyond any timeout; a body cut
        // by RST_STREAM counts as complete; and a stalled connection is reused for the next request.
        ccurl_set_long(handle, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        ccurl_set_string(handle, CURLOPT_USERAGENT, request.userAgent ?? configuration.userAgent)
        if let range = request.range { ccurl_set_string(handle, CURLOPT_RANGE, range) }
        if request.decodes { ccurl_set_string(handle, CURLOPT_ACCEPT_ENCODING, "") }
        for field in request.fields { fieldList = curl_slist_append(fieldList, "\(field.name): \(field.value)") }
        if !request.decodes { fieldList = curl_slist_append(fieldList, "Accept-Encoding: identity") }
        if let body = request.body {
            ccurl_set_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
            // Copied by curl (CURLOPT_COPYPOSTFIELDS(3)), which needs the size first.
            body.withUnsafeBytes {
                _ = ccurl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: $0.baseAddress))
            }
            // For a body of more than a megabyte curl would first send Expect: 100-continue, which some servers never
            // answer.
            fieldList = curl_slist_append(fieldList, "Expect:")
        }
        ccurl_set_list(handle, CURLOPT_HTTPHEADER, fieldList)
        configureMethod(method)
        let context = Unmanaged.passUnretained(self).toOpaque()
        ccurl_set_pointer(handle, CURLOPT_WRITEDATA, context)
        ccurl_set_pointer(handle, CURLOPT_HEADERDATA, context)
        ccurl_set_data_callback(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            guard let context else { return ccurl_write_error }
            let handle = Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
            return handle.receive(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
        ccurl_set_data_callback(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            guard let context else { return ccurl_write_error }
            let handle = Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
            return handle.receiveField(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
        }
    }

    /// Returns the size of curl's receive buffer in bytes: the handle's share of the total, but at most the bytes that
    /// the rate limit permits in an eighth of a second.
    static func receiveBuffer(rateLimit: Int64, others: Int) -> Int {
        let size = min(receiveBuffer, max(smallReceiveBuffer, sharedReceiveBuffer / (others + 1)))
        guard rateLimit > 0 else { return size }
        return max(smallestReceiveBuffer, Int(min(rateLimit / 8, Int64(size))))
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
        switch receiver?.easyHandle(self, didReceive: bytes) ?? .stop {
        case .accepted: return bytes.count
        case .pause:
            isPaused = true
            return ccurl_write_pause
        case .stop: return ccurl_write_error
        }
    }

    /// The maximum size in bytes of all heads of an exchange. Redirects with long cookies need far less. It is below
    /// curl's own limit of 300 KiB, whose error looks like a broken connection. curl limits a single line to 100 KiB.
    private static let largestHead = 256 * 1024

    /// Processes one line of a head, with its line end.
    ///
    /// - Returns: `false` to end the transfer.
    private func receiveField(_ bytes: UnsafeRawBufferPointer) -> Bool {
        headSize += bytes.count
        if headSize > Self.largestHead {
            rejection = CurlCode.headTooLarge
            return false
        }
        // Trailer fields after the body (RFC 9110 §6.5) arrive here too, and do not belong to the head.
        if hasReportedHead { return rejection == nil }
        if bytes.starts(with: "HTTP/".utf8) { head = [] }
        head.append(contentsOf: bytes)
        if bytes.allSatisfy({ $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }) { finishHead() }
        return rejection == nil
    }

    private func finishHead() {
        let status = integer(CURLINFO_RESPONSE_CODE)
        // Skip interim responses.
        if status < 200 { return }
        var head = ResponseHead(status: status, lines: head)
        if head.announcesStrayBody { ccurl_set_long(pointer, CURLOPT_FORBID_REUSE, 1) }
        let url = effectiveURL
        if followsRedirects, (300...399).contains(status), head["location"] != nil {
            redirects.append(ResponseHead.Redirect(status: status, url: url ?? ""))
            trail.redirected()
            return
        }
        if status == 417, canRepeatWithoutExpect {
            canRepeatWithoutExpect = false
            return
        }
        head.url = url
        head.space = trail.space
        head.firstSpace = trail.firstSpace
        head.redirects = redirects
        hasReportedHead = true
        // Reject the head here, because curl would accept it: curl uses the last Content-Length field, and ignores what
        // follows its digits.
        if case .invalid(let reason) = head.framing {
            rejection = TransferError(.unusable, reason)
            return
        }
        receiver?.easyHandle(self, didReceiveHead: head)
    }

    /// Prepares a repetition of the request on a new connection, if the received bytes did not start with a head. They
    /// may be left over from an earlier response on a reused connection: its forbidden body (204, 304), or bytes that
    /// the server sent after the end of its body.
    ///
    /// - Returns: whether to send it again, which is allowed once, and only for a request without side effects.
    func prepareRepeat(after code: CurlCode) -> Bool {
        guard canRepeat, !hasReportedHead, answeredWithoutHead(code) else { return false }
        canRepeat = false
        head = []
        headSize = 0
        redirects = []
        trail = reach
        ccurl_set_long(pointer, CURLOPT_FRESH_CONNECT, 1)
        return true
    }

    /// Resumes reading. Must not be called in a callback; may deliver bytes before it returns.
    func resume() {
        guard isPaused else { return }
        isPaused = false
        curl_easy_pause(pointer, CURLPAUSE_CONT)
    }
}

/// A user name and a password for one origin: scheme, host and port (RFC 6454 §4).
///
/// They are sent with the first request, as Basic (RFC 7617), because asking the server for its authentication schemes
/// would cost each new request a round trip. libcurl does not send them after a redirect to another host, port or
/// scheme (CURLOPT_UNRESTRICTED_AUTH(3), off by default).
package struct Credentials: Sendable, Codable, Equatable, CustomStringConvertible {
    package let user: String
    package let password: String
    /// `WebAddress.origin`.
    package let origin: String

    package init(user: String, password: String, origin: String) {
        self.user = user
        self.password = password
        self.origin = origin
    }

    /// Whether they may be sent to this URL. `false` for a URL with user info, because that is sent instead.
    package func fit(_ url: String) -> Bool {
        guard let address = try? WebAddress(url) else { return false }
        return address.origin == origin && !address.hasUserInfo
    }

    /// The origin without the secrets, since values are printed in logs.
    package var description: String { "credentials for \(origin)" }
}
