internal import CCurl

/// libcurl's process-wide initialization.
enum CurlGlobal {
    /// Whether `curl_global_init` succeeded. It runs once, before the first handle; it is thread-safe since 7.84, and
    /// Swift's one-time initialization makes it so with older versions. There is no cleanup, since handles may live
    /// until the process exits.
    static let isReady: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}
