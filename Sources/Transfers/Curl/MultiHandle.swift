internal import CCurl
internal import Platform

/// A multi handle of libcurl, which runs many transfers (easy handles) on one thread and reuses their connections.
///
/// Confined to the engine's thread.
final class MultiHandle {
    private let raw: OpaquePointer
    private var handles: [OpaquePointer: EasyHandle] = [:]
    private let sessions = TLSSessions()

    /// The maximum number of idle connections. It is enough for all readers and background downloads (64 + 3), and for
    /// the feeds of a hundred hosts. With fewer, a refresh of many feeds would close the connections needed for the
    /// next episode.
    private static let maxConnections = 256

    init?() {
        guard CurlGlobal.isReady, let handle = curl_multi_init() else { return nil }
        raw = OpaquePointer(handle)
        ccurl_multi_set_long(pointer, CURLMOPT_MAXCONNECTS, Self.maxConnections)
    }

    deinit {
        for handle in handles.values {
            curl_multi_remove_handle(pointer, UnsafeMutableRawPointer(handle.raw))
            TLSSessions.detach(handle)
        }
        curl_multi_cleanup(pointer)
    }

    private var pointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(raw) }

    func add(_ handle: EasyHandle) {
        handles[handle.raw] = handle
        sessions.attach(handle)
        curl_multi_add_handle(pointer, UnsafeMutableRawPointer(handle.raw))
    }

    /// Ends a transfer. Must not be called in a callback.
    func remove(_ handle: EasyHandle) {
        guard handles.removeValue(forKey: handle.raw) != nil else { return }
        curl_multi_remove_handle(pointer, UnsafeMutableRawPointer(handle.raw))
        TLSSessions.detach(handle)
    }

    /// Advances all transfers as far as possible without waiting; callbacks run during this call.
    func perform() {
        var running: Int32 = 0
        curl_multi_perform(pointer, &running)
    }

    /// Removes and returns the next completed transfer, with curl's code. A transfer that has to be repeated
    /// (`EasyHandle.prepareRepeat`) is restarted instead.
    func nextEnded() -> (EasyHandle, CurlCode)? {
        var left: Int32 = 0
        while let message = curl_multi_info_read(pointer, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                let handle = handles[OpaquePointer(easy)]
            else { continue }
            let code = CurlCode(ccurl_message_result(message))
            remove(handle)
            if handle.prepareRepeat(after: code) {
                add(handle)
                continue
            }
            return (handle, code)
        }
        return nil
    }

    /// Waits until a transfer can advance, one of `descriptors` becomes readable, or `longest` has passed.
    ///
    /// - Parameter longest: Rounded up to milliseconds; `nil` for no limit.
    /// - Returns: Whether each of the descriptors is readable, in their order.
    func wait(for longest: Duration?, descriptors: [Int32]) -> [Bool] {
        let milliseconds = longest.map { Int32(clamping: max(0, ($0 + .microseconds(999)).milliseconds)) } ?? .max
        var extra = descriptors.map { curl_waitfd(fd: $0, events: Int16(CURL_WAIT_POLLIN), revents: 0) }
        curl_multi_poll(pointer, &extra, UInt32(extra.count), milliseconds, nil)
        return extra.map { $0.revents != 0 }
    }
}
