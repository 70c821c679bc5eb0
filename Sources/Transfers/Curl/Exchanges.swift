internal import CCurl
internal import Platform

/// The requests in progress in curl, and their owners: a multi handle of libcurl, which runs many transfers (easy
/// handles) on one thread and reuses their connections.
///
/// Confined to the engine's thread.
final class Exchanges {
    private let multi: UnsafeMutableRawPointer
    /// The cache of TLS sessions that all requests share; `nil` if there is no memory for it.
    ///
    /// Easy handles of one multi handle share connections, but not TLS sessions (CURLOPT_SHARE(3)). Without sharing, a
    /// new connection to a known host costs one more round trip with TLS 1.2, and only processor time with TLS 1.3.
    /// libcurl 7.88 retains the sessions of eight hosts. On one thread libcurl needs no lock callbacks.
    private let sessions: UnsafeMutableRawPointer?
    /// The requests by curl's handles.
    private var requests: [UnsafeMutableRawPointer: (handle: EasyHandle, owner: any EasyHandleReceiver)] = [:]
    /// curl handles of completed data requests, for reuse.
    private var idleHandles: [UnsafeMutableRawPointer] = []
    /// The default of `refresh.connections`, the number of feeds fetched concurrently.
    private static let maxIdleHandles = 64
    /// The maximum number of idle connections. It is enough for all readers and background downloads (64 + 3), and for
    /// the feeds of a hundred hosts. With fewer, a refresh of many feeds would close the connections needed for the
    /// next episode.
    private static let maxConnections = 256
    /// Whether requests were added that curl has not started yet.
    private(set) var hasNew = false
    /// The number of download requests in progress.
    var downloads: Int { requests.values.count { $0.owner is DownloadConnection } }

    init?() {
        guard CurlGlobal.isReady, let multi = curl_multi_init() else { return nil }
        self.multi = multi
        ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.maxConnections)
        sessions = curl_share_init()
        if let sessions { ccurl_share_set_data(sessions, CURL_LOCK_DATA_SSL_SESSION) }
    }

    deinit {
        for (handle, _) in requests.values { remove(handle) }
        for handle in idleHandles { curl_easy_cleanup(handle) }
        curl_multi_cleanup(multi)
        if let sessions { curl_share_cleanup(sessions) }
    }

    func add(_ handle: EasyHandle, owner: any EasyHandleReceiver) {
        handle.receiver = owner
        requests[handle.pointer] = (handle, owner)
        if let sessions { ccurl_set_pointer(handle.pointer, CURLOPT_SHARE, sessions) }
        curl_multi_add_handle(multi, handle.pointer)
        hasNew = true
    }

    /// Cancels a request. Must not be called in a callback of curl.
    func remove(_ handle: EasyHandle) { _ = remove(handle.pointer) }

    private func remove(_ pointer: UnsafeMutableRawPointer) -> (handle: EasyHandle, owner: any EasyHandleReceiver)? {
        guard let request = requests.removeValue(forKey: pointer) else { return nil }
        curl_multi_remove_handle(multi, pointer)
        ccurl_set_pointer(pointer, CURLOPT_SHARE, nil)
        return request
    }

    /// Advances all requests as far as possible without waiting; callbacks run during this call.
    func perform() {
        hasNew = false
        var running: Int32 = 0
        curl_multi_perform(multi, &running)
    }

    /// Removes and returns the next completed request, with curl's code. A request that has to be repeated
    /// (`EasyHandle.prepareRepeat`) is restarted instead.
    func nextEnded() -> (owner: any EasyHandleReceiver, handle: EasyHandle, code: CurlCode)? {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let pointer = message.pointee.easy_handle else { continue }
            let code = CurlCode(ccurl_message_result(message))
            guard let (handle, owner) = remove(pointer) else { continue }
            guard handle.prepareRepeat(after: code) else { return (owner, handle, code) }
            add(handle, owner: owner)
        }
        return nil
    }

    /// Waits until a request can advance, one of `descriptors` becomes readable, or `longest` has passed.
    ///
    /// - Parameter longest: Rounded up to milliseconds; `nil` for no limit.
    /// - Returns: Whether each of the descriptors is readable, in their order.
    func wait(for longest: Duration?, descriptors: [Int32]) -> [Bool] {
        let milliseconds = longest.map { Int32(clamping: max(0, ($0 + .microseconds(999)).milliseconds)) } ?? .max
        var extra = descriptors.map { curl_waitfd(fd: $0, events: Int16(CURL_WAIT_POLLIN), revents: 0) }
        curl_multi_poll(multi, &extra, UInt32(extra.count), milliseconds, nil)
        return extra.map { $0.revents != 0 }
    }

    // MARK: Data requests

    func popIdleHandle() -> UnsafeMutableRawPointer? { idleHandles.popLast() }

    /// Retains the handle of a completed data request for reuse, up to `maxIdleHandles`.
    func recycle(_ handle: EasyHandle) {
        if idleHandles.count < Self.maxIdleHandles, let idle = handle.surrender() { idleHandles.append(idle) }
    }

    /// Cancels the data requests with this number. Must not be called in a callback of curl.
    func cancelData(_ number: Int64) {
        for (handle, owner) in requests.values where (owner as? DataExchange)?.number == number { remove(handle) }
    }

    /// Ends the data requests, and reports the end of the engine to their receivers.
    func failData(_ error: TransferError) {
        for (handle, owner) in requests.values {
            guard let exchange = owner as? DataExchange else { continue }
            remove(handle)
            exchange.fail(error)
        }
    }
}

/// libcurl's process-wide initialization.
enum CurlGlobal {
    /// Whether `curl_global_init` succeeded. The function runs once, before the first handle is created. It is
    /// thread-safe since libcurl 7.84. With older versions, Swift's one-time initialization ensures that only one
    /// thread calls it. `curl_global_cleanup` is never called, since handles may live until the process exits.
    static let isReady: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}
