internal import Platform

/// A user name and a password for one origin: scheme, host and port (RFC 6454 §4).
///
/// They are sent with the first request, as Basic (RFC 7617), because asking the server for its authentication schemes
/// would cost each new request a round trip. libcurl does not send them after a redirect to another host, port or
/// scheme (CURLOPT_UNRESTRICTED_AUTH(3), off by default).
package struct Credentials: Sendable, Equatable, CustomStringConvertible {
    package let user: String
    package let password: String
    /// `WebAddress.origin`.
    package let origin: String

    package init(user: String, password: String, origin: String) {
        self.user = user
        self.password = password
        self.origin = origin
    }

    /// Whether they may be sent to this URL. `false` for a URL with user info, because that is sent instead.
    package func fit(_ url: String) -> Bool {
        guard let address = try? WebAddress(url) else { return false }
        return address.origin == origin && !address.hasUserInfo
    }

    /// The origin without the secrets, since values are printed in logs.
    package var description: String { "credentials for \(origin)" }
}
