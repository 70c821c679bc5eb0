internal import CCurl

/// Runs many easy handles on one thread, over libcurl's multi interface; keeps their connections for reuse.
///
/// Belongs to the engine's thread.
final class MultiHandle {
    private let raw: OpaquePointer
    private var handles: [OpaquePointer: EasyHandle] = [:]

    /// Kept connections: for all readers and the filling (64 + 3), and for the feeds of a hundred hosts beside them. With
    /// fewer, the refresh of a long list would close the connections on which the next episode is to be asked for.
    private static let keptConnections = 256

    init?() {
        guard CurlGlobal.isReady, let handle = curl_multi_init() else { return nil }
        raw = OpaquePointer(handle)
        ccurl_multi_set_long(pointer, CURLMOPT_MAXCONNECTS, Self.keptConnections)
    }

    deinit {
        for key in handles.keys { curl_multi_remove_handle(pointer, UnsafeMutableRawPointer(key)) }
        curl_multi_cleanup(pointer)
    }

    private var pointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(raw) }

    func add(_ handle: EasyHandle) {
        handles[handle.raw] = handle
        curl_multi_add_handle(pointer, UnsafeMutableRawPointer(handle.raw))
    }

    /// Ends a transfer. Not from within a callback.
    func remove(_ handle: EasyHandle) {
        guard handles.removeValue(forKey: handle.raw) != nil else { return }
        curl_multi_remove_handle(pointer, UnsafeMutableRawPointer(handle.raw))
    }

    /// Moves all transfers on as far as they go without waiting; callbacks run in here.
    func perform() {
        var running: Int32 = 0
        curl_multi_perform(pointer, &running)
    }

    /// The next transfer that has ended, removed from the handle, with curl's code.
    func nextEnded() -> (EasyHandle, CurlCode)? {
        var left: Int32 = 0
        while let message = curl_multi_info_read(pointer, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                let handle = handles[OpaquePointer(easy)]
            else { continue }
            let code = CurlCode(ccurl_message_result(message))
            remove(handle)
            return (handle, code)
        }
        return nil
    }

    /// Waits until something can be moved on, `wakeUp` becomes readable, or `milliseconds` have passed.
    func wait(milliseconds: Int32, wakeUp: Int32) {
        var extra = curl_waitfd(fd: wakeUp, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        curl_multi_poll(pointer, &extra, 1, milliseconds, nil)
    }
}
