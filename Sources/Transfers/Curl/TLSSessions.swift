internal import CCurl

/// The cache of TLS sessions that all requests of an engine share.
///
/// Easy handles of one multi handle share connections, but not TLS sessions (CURLOPT_SHARE(3)). Without sharing, a
/// new connection to a known host costs one more round trip with TLS 1.2, and only processor time with TLS 1.3. libcurl
/// 7.88 retains the sessions of eight hosts.
///
/// Confined to the engine's thread, so libcurl gets no lock callbacks. `MultiHandle` attaches an easy handle when it
/// adds the handle, and detaches it when it removes the handle.
final class TLSSessions {
    private let raw: OpaquePointer?

    init() {
        raw = curl_share_init().map { OpaquePointer($0) }
        if let raw { ccurl_share_set_data(UnsafeMutableRawPointer(raw), CURL_LOCK_DATA_SSL_SESSION) }
    }

    deinit { if let raw { curl_share_cleanup(UnsafeMutableRawPointer(raw)) } }

    func attach(_ handle: EasyHandle) {
        if let raw { ccurl_set_pointer(handle.pointer, CURLOPT_SHARE, UnsafeMutableRawPointer(raw)) }
    }

    static func detach(_ handle: EasyHandle) { ccurl_set_pointer(handle.pointer, CURLOPT_SHARE, nil) }
}
