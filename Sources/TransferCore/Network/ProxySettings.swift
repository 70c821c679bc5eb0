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
    package func proxy(scheme: String, host: String) -> Proxy? {
        guard let proxy = scheme == "https" ? https : http, !bypasses(host) else { return nil }
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

    /// Parses `[SCHEME://][USER[:PASSWORD]@]HOST[:PORT]`.
    private static func proxy(_ text: String) -> Proxy? {
        var place = text[...]
        // libcurl's default ports: 443 for an https proxy, 1080 for others (CURLOPT_PROXY(3)).
        var port = 1_080
        if let end = text.firstRange(of: "://") {
            if text[..<end.lowerBound].lowercased() == "https" { port = 443 }
            place = text[end.upperBound...]
        }
        place = place.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        if let at = place.lastIndex(of: "@") { place = place[place.index(after: at)...] }
        var host = place
        // The colons of an IPv6 address are inside its brackets.
        let bracket = place.lastIndex(of: "]") ?? place.startIndex
        if let colon = place[bracket...].firstIndex(of: ":") {
            host = place[..<colon]
            guard let number = Int(place[place.index(after: colon)...]), (1...65_535).contains(number) else {
                return nil
            }
            port = number
        }
        return host.isEmpty ? nil : Proxy(host: host.lowercased(), port: port)
    }
}
