internal import CCurl
internal import TransferCore

/// What happens on a handle's transfer, told while curl is at work: no call back into curl is allowed from here.
protocol EasyHandleReceiver: AnyObject {
    /// The head of the final answer: redirects that are followed and interim answers are not reported.
    func easyHandle(_ handle: EasyHandle, didReceiveHead head: ResponseHead)
    /// A piece of the body.
    func easyHandle(_ handle: EasyHandle, didReceive bytes: UnsafeRawBufferPointer) -> EasyHandle.Verdict
}

/// One HTTP exchange, over libcurl's easy interface.
///
/// Belongs to the engine's thread. curl's callbacks get an unretained pointer to this object as their context: the
/// handle is cleaned up in `deinit`, so curl never calls with a pointer that has gone; and it is only run by a
/// `MultiHandle`, which retains it while it is added.
final class EasyHandle {
    /// The answer to a piece of the body.
    enum Verdict {
        case taken
        /// Nothing was taken: deliver it again after `resume()`.
        case pause
        /// End the transfer.
        case stop
    }

    /// A request in curl's terms.
    struct Request {
        var url: String
        /// The value of the Range field without its unit: `0-99`, `100-`.
        var range: String?
        var fields: [(name: String, value: String)] = []
        /// Sent by POST, with the type that a field names; `nil` asks by GET.
        var body: [UInt8]?
        var userAgent: String
        /// Sent when they fit the address, else left out.
        var credentials: Credentials?
        /// Milliseconds to a connection.
        var connectTimeout: Int64
        /// Seconds without a byte.
        var stall: Int64
        /// Lets curl ask for and undo content codings; media are always asked for as they are.
        var decodes = false
        /// Milliseconds to the end of the exchange; 0 does not limit.
        var timeout: Int64 = 0
        /// The space of what named the address; `nil` where a person gave it. See `ReachTrail`.
        var reach: AddressSpace?
        /// Bytes per second that will be taken, by pausing; 0 for as many as come. curl itself is not asked to limit them:
        /// it evens a rate out over the last three seconds at least, so that one that is lowered on a running handle
        /// stops it for as long as the bytes before would have taken, and a stop of some length looks like a stall.
        var rateLimit: Int64 = 0
        /// How many handles run beside it: the more they are, the less memory each takes.
        var others = 0
        var followsRedirects = true
        var method = Method.get
    }

    let raw: OpaquePointer
    weak var receiver: (any EasyHandleReceiver)?
    /// What a PUT or PATCH sends; curl's callbacks reach it through this handle.
    let body: UploadBody?
    /// Of a POST. curl reads it while the handle runs.
    var form: OpaquePointer?
    private var fieldList: UnsafeMutablePointer<curl_slist>?
    private var resolved: UnsafeMutablePointer<curl_slist>?
    /// Judges the addresses that it is connected to.
    var trail: ReachTrail
    private var head = ResponseHead(status: 0)
    /// The name of the field that was read last.
    private var lastField: String?
    private var hasReportedHead = false
    private var redirects: [ResponseHead.Redirect] = []
    private var headSize = 0
    /// Why the answer was refused before it came to its body.
    private(set) var rejection: TransferError?
    private let followsRedirects: Bool
    /// curl repeats a request by itself whose Expect a server does not understand (417).
    private var mayRepeatWithoutExpect: Bool
    private(set) var isPaused = false
    /// No credentials of a show, nothing sent but the question.
    private let isPlain: Bool
    private var isSurrendered = false

    /// The size of curl's receive buffer: with 512 KiB a GiB costs a quarter of the processor time that it costs with
    /// the default of 16 KiB.
    private static let receiveBuffer = 512 * 1024
    /// Beyond eight handles each further one has its part of this: a hundred together have 15 MB in place of 52.
    private static let sharedReceiveBuffer = 4 * 1024 * 1024
    /// The part is at least this, four times curl's default. So is the buffer of answers that are wanted in memory, most
    /// of which are small: a larger one is mapped and unmapped for each.
    private static let smallReceiveBuffer = 64 * 1024
    /// The least that curl accepts.
    private static let smallestReceiveBuffer = 1_024
    /// Followed redirects; tracking prefixes chain up to seven.
    private static let redirects = 10

    /// - Parameter idle: what another handle has surrendered; belongs to this one then.
    init?(_ request: Request, in network: NetworkConfiguration, reusing idle: OpaquePointer? = nil) {
        guard CurlGlobal.isReady, let handle = idle ?? curl_easy_init().map({ OpaquePointer($0) }) else { return nil }
        raw = handle
        trail = ReachTrail(policy: network.reach, limit: request.reach)
        followsRedirects = request.followsRedirects
        if case .send(_, let body) = request.method { self.body = body } else { body = nil }
        mayRepeatWithoutExpect = request.method.sendsSomething
        isPlain = request.credentials == nil && request.body == nil && !request.method.sendsSomething
        configure(request)
        for answer in network.resolved() { resolved = curl_slist_append(resolved, answer) }
        if let resolved { ccurl_set_list(pointer, CURLOPT_RESOLVE, resolved) }
    }

    deinit {
        if !isSurrendered { Self.discard(raw) }
        curl_slist_free_all(fieldList)
        curl_slist_free_all(resolved)
        if let form { curl_mime_free(form) }
    }

    static func discard(_ raw: OpaquePointer) { curl_easy_cleanup(UnsafeMutableRawPointer(raw)) }

    /// Gives curl's handle away, as if it were new, when its transfer has ended and been removed: making one takes
    /// longer than all that is done for a small answer. This object does nothing with it any more.
    ///
    /// - Returns: `nil` for one that stays, as it was used for more than a plain question.
    func surrender() -> OpaquePointer? {
        guard !isSurrendered, isPlain else { return nil }
        isSurrendered = true
        curl_easy_reset(pointer)
        return raw
    }

    var pointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(raw) }

    private func configure(_ request: Request) {
        let handle = pointer
        ccurl_set_string(handle, CURLOPT_URL, request.url)
        ccurl_set_web_only(handle)
        ccurl_set_long(handle, CURLOPT_FOLLOWLOCATION, followsRedirects ? 1 : 0)
        ccurl_set_long(handle, CURLOPT_MAXREDIRS, Self.redirects)
        ccurl_set_long(handle, CURLOPT_NOSIGNAL, 1)
        let buffer =
            request.decodes
            ? Self.smallReceiveBuffer : Self.receiveBuffer(rateLimit: request.rateLimit, others: request.others)
        ccurl_set_long(handle, CURLOPT_BUFFERSIZE, buffer)
        ccurl_set_long(handle, CURLOPT_CONNECTTIMEOUT_MS, Int(request.connectTimeout))
        ccurl_set_long(handle, CURLOPT_LOW_SPEED_LIMIT, 1)
        ccurl_set_long(handle, CURLOPT_LOW_SPEED_TIME, Int(request.stall))
        ccurl_set_long(handle, CURLOPT_TCP_KEEPALIVE, 1)
        if request.timeout > 0 { ccurl_set_long(handle, CURLOPT_TIMEOUT_MS, Int(request.timeout)) }
        configureReach()
        if let credentials = request.credentials, credentials.fit(request.url) {
            ccurl_set_auth_basic(handle)
            ccurl_set_string(handle, CURLOPT_USERNAME, credentials.user)
            ccurl_set_string(handle, CURLOPT_PASSWORD, credentials.password)
        }
        // HTTP/2 is not offered. With streams in one connection a paused one would be buffered without end, or stop the
        // others. And of libcurl 7.88 a server gets more than it may: empty DATA or WINDOW_UPDATE frames without end keep
        // the thread of all transfers in one call for half a minute, past every time-out; a body that RST_STREAM cuts is
        // whole; and a connection that has stalled is kept for the next request.
        ccurl_set_long(handle, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        ccurl_set_string(handle, CURLOPT_USERAGENT, request.userAgent)
        if let range = request.range { ccurl_set_string(handle, CURLOPT_RANGE, range) }
        if request.decodes { ccurl_set_string(handle, CURLOPT_ACCEPT_ENCODING, "") }
        for field in request.fields {
            fieldList = curl_slist_append(fieldList, "\(field.name): \(field.value)")
        }
        if !request.decodes { fieldList = curl_slist_append(fieldList, "Accept-Encoding: identity") }
        if let body = request.body {
            ccurl_set_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
            // Copied by curl (CURLOPT_COPYPOSTFIELDS(3)), which needs the size first.
            body.withUnsafeBytes {
                _ = ccurl_set_pointer(
                    handle, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: $0.baseAddress))
            }
            // Of a body of more than a megabyte curl would first ask whether it may come, which some servers never answer.
            fieldList = curl_slist_append(fieldList, "Expect:")
        }
        ccurl_set_list(handle, CURLOPT_HTTPHEADER, fieldList)
        configureMethod(request.method)
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

    /// What is received and has to wait is small beside the limit: an eighth of a second of it.
    static func receiveBuffer(rateLimit: Int64, others: Int) -> Int {
        let size = min(receiveBuffer, max(smallReceiveBuffer, sharedReceiveBuffer / (others + 1)))
        guard rateLimit > 0 else { return size }
        return max(smallestReceiveBuffer, Int(min(rateLimit / 8, Int64(size))))
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
        switch receiver?.easyHandle(self, didReceive: bytes) ?? .stop {
        case .taken: return bytes.count
        case .pause:
            isPaused = true
            return ccurl_write_pause
        case .stop: return ccurl_write_error
        }
    }

    /// What all the heads of an exchange may have: redirects with long cookies stay far below it, and it is below curl's
    /// own bound of 300 KiB, which looks like a broken connection. A single line is bounded by curl, at 100 KiB.
    private static let largestHead = 256 * 1024

    /// One line of a head, with its line end.
    ///
    /// - Returns: `false` to end the transfer.
    private func receiveField(_ bytes: UnsafeRawBufferPointer) -> Bool {
        headSize += bytes.count
        if headSize > Self.largestHead {
            rejection = CurlCode.headTooLarge
            return false
        }
        // Fields after the body (RFC 9110 §6.5) come here too, and are no part of the head.
        if !hasReportedHead { readField(bytes) }
        return rejection == nil
    }

    private func readField(_ bytes: UnsafeRawBufferPointer) {
        if bytes.first == UInt8(ascii: "H"), bytes.starts(with: "HTTP/".utf8) {
            head = ResponseHead(status: 0)
            lastField = nil
            return
        }
        if let line = Self.plainLine(bytes) { return readLine(line) }
        // Without anything that ends a line, wherever it stands.
        var line = String(decoding: bytes, as: UTF8.self).filter { !$0.isNewline }
        line.withUTF8 { readLine(UnsafeRawBufferPointer($0)) }
    }

    /// A line of a head without its end; `nil` for one with bytes beyond ASCII, or with another line end in it, that has
    /// to be read as characters. As such a head takes longer than all the rest that is done for a small answer.
    private static func plainLine(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        // Line feed, vertical tab, form feed and carriage return, as `Character.isNewline` has them.
        let isEnd = { (byte: UInt8) in byte >= 0x0A && byte <= 0x0D }
        var count = bytes.count
        while count > 0, isEnd(bytes[count - 1]) { count -= 1 }
        for index in 0..<count where bytes[index] >= 0x80 || isEnd(bytes[index]) { return nil }
        return UnsafeRawBufferPointer(rebasing: bytes[..<count])
    }

    private func readLine(_ line: UnsafeRawBufferPointer) {
        if line.isEmpty {
            finishHead()
            return
        }
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        if isBlank(line[0]) { return continueField(line) }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
        var nameEnd = colon
        while nameEnd > 0, isBlank(line[nameEnd - 1]) { nameEnd -= 1 }
        let name = String(unsafeUninitializedCapacity: nameEnd) { name in
            for index in 0..<nameEnd {
                let byte = line[index]
                name[index] = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
            }
            return nameEnd
        }
        lastField = name
        if nameEnd < colon { distrustFraming(name) }
        var start = colon + 1
        var end = line.count
        while start < end, isBlank(line[start]) { start += 1 }
        while end > start, isBlank(line[end - 1]) { end -= 1 }
        let value = String(decoding: line[start..<end], as: UTF8.self)
        if let before = head.fields.updateValue(value, forKey: name), ResponseHead.lists.contains(name) {
            head.fields[name] = before + ", " + value
        }
    }

    /// A line that continues the one before (RFC 9112 §5.2).
    private func continueField(_ line: UnsafeRawBufferPointer) {
        guard let name = lastField else { return }
        distrustFraming(name)
        head.fields[name, default: ""] += " " + String(decoding: line, as: UTF8.self)
    }

    /// A field is written in a way that curl reads otherwise than this does. What says where the body ends must not be: one
    /// of the two would take a part of the body for the whole, or its framing for content.
    private func distrustFraming(_ name: String) {
        guard name == "content-length" || name == "transfer-encoding" else { return }
        rejection = TransferError(.unusable, "the server sent a malformed \(name) field")
    }

    private func finishHead() {
        var status = 0
        ccurl_get_long(pointer, CURLINFO_RESPONSE_CODE, &status)
        head.status = status
        // Interim answers, and redirects that curl follows, are not the answer.
        if status < 200 { return }
        var address: UnsafeMutablePointer<CChar>?
        ccurl_get_string(pointer, CURLINFO_EFFECTIVE_URL, &address)
        let url = address.map { String(cString: $0) }
        if followsRedirects, (300...399).contains(status), head["location"] != nil {
            redirects.append(ResponseHead.Redirect(status: status, url: url ?? ""))
            trail.redirected()
            return
        }
        if status == 417, mayRepeatWithoutExpect {
            mayRepeatWithoutExpect = false
            return
        }
        head.url = url
        head.space = trail.space
        head.firstSpace = trail.firstSpace
        head.redirects = redirects
        hasReportedHead = true
        // curl goes by the last Content-Length, and by as much of it as is a number.
        if case .invalid(let reason) = head.framing {
            rejection = TransferError(.unusable, reason)
            return
        }
        receiver?.easyHandle(self, didReceiveHead: head)
    }

    /// Goes on reading. Not from within a callback; may deliver bytes before it returns.
    func resume() {
        guard isPaused else { return }
        isPaused = false
        curl_easy_pause(pointer, CURLPAUSE_CONT)
    }
}
