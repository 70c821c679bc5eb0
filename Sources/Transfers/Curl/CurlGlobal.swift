internal import CCurl

/// libcurl's process-wide initialization.
enum CurlGlobal {
    /// Whether `curl_global_init` succeeded. The function runs once, before the first handle is created. It is
    /// thread-safe since libcurl 7.84. With older versions, Swift's one-time initialization ensures that only one
    /// thread calls it. `curl_global_cleanup` is never called, since handles may live until the process exits.
    static let isReady: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}
