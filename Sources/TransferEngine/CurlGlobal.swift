internal import CCurl

/// libcurl's process-wide set-up.
enum CurlGlobal {
    /// Done once, before the first handle; `curl_global_init` is thread-safe since 7.84 and called under Swift's
    /// one-time initialisation for older ones. It is never undone: handles may live until the process ends.
    static let isReady: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}
