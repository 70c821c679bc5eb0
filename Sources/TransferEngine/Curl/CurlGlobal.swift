internal import CCurl

/// libcurl's process-wide initialization.
enum CurlGlobal {
    /// Runs once, before the first handle; `curl_global_init` is thread-safe since 7.84, and for older versions Swift's
    /// one-time initialization makes it so. There is no cleanup, since handles may live until the process exits.
    static let isReady: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}
