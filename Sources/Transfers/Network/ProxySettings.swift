internal import Platform

/// The proxies that the environment configures, as libcurl reads them (curl(1), ENVIRONMENT).
///
/// libcurl chooses the proxy of each request by itself. This value only predicts its choice, so that `ReachTrail` does
/// not mistake the proxy's address for the host's.
package struct ProxySettings: Sendable, Equatable {
    /// The host and port of a proxy.
    package struct Proxy: Sendable, Equatable {
        package var host: String
        package var port: Int
    }

    private let http: Proxy?
    private let https: Proxy?
    /// The hosts and address blocks of `no_proxy`, to which requests go directly.
    private let direct: [Substring]

    /// - Parameter variable: Returns the value of an environment variable. An empty value is treated as unset.
    package init(_ variable: (String) -> String?) {
        func first(_ names: String...) -> String? {
            for name in names { if let value = variable(name), !value.isEmpty { return value } }
            return nil
        }
        let all = first("all_proxy", "ALL_PROXY")
        // HTTP_PROXY is not read, because a CGI server sets that variable from the Proxy field of a request.
        http = (first("http_proxy") ?? all).flatMap(Self.proxy)
        https = (first("https_proxy", "HTTPS_PROXY") ?? all).flatMap(Self.proxy)
        direct = (first("no_proxy", "NO_PROXY") ?? "").split { $0 == "," || $0 == " " || $0 == "\t" }
    }

    /// Returns the proxy for a URL's scheme and host; `nil` if requests go to the host itself.
    package func proxy(isSecure: Bool, host: String) -> Proxy? {
        guard let proxy = isSecure ? https : http, !bypasses(host) else { return nil }
        return proxy
    }

    private func bypasses(_ host: String) -> Bool {
        if direct == ["*"] { return true }
        let address = NetworkAddress(host)
        let name = Self.normalized(host[...])
        return direct.contains { entry in
            if let address {
                if entry.contains("/") { return AddressBlock(String(entry)).map { $0.contains(address) } ?? false }
                return NetworkAddress(entry) == address
            }
            let domain = Self.normalized(entry.hasPrefix(".") ? entry.dropFirst() : entry)
            return !domain.isEmpty && (name == domain || name.hasSuffix("." + domain))
        }
    }

    private static func normalized(_ name: Substring) -> String {
        (name.hasSuffix(".") ? name.dropLast() : name).lowercased()
    }

    private static func proxy(_ text: String) -> Proxy? {
        WebAddress.proxy(text).map { Proxy(host: $0.host, port: $0.port) }
    }
}
