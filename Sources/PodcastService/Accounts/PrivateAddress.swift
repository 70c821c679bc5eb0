internal import Foundation
internal import PodcastFeed
internal import PodcastLibrary
package import TransferEngine

/// The address of a feed or a server, separated from the credentials that it may contain.
package struct PrivateAddress: Sendable, Equatable {
    /// The address without user info, as stored in the library and requested from the server.
    package let url: String
    /// The credentials of the user info (RFC 3986 §3.2.1), unescaped; `nil` if there are none, or they are empty.
    package let credentials: Credentials?

    package init(_ text: String) {
        url = RedactedURL.withoutUserInfo(text)
        credentials = Self.credentials(in: text)
    }

    package init(url: String, credentials: Credentials?) {
        self.url = url
        self.credentials = credentials
    }

    /// The address with secrets redacted, for display.
    package var visible: String { RedactedURL.text(url, isPrivate: credentials != nil) }

    /// The address with its credentials as user info, for other programs.
    package var whole: String {
        guard let credentials, let scheme = url.unicodeScalars.firstRange(of: "://".unicodeScalars) else { return url }
        let password = credentials.password.isEmpty ? "" : ":" + credentials.password.percentEncoded
        return "\(url[..<scheme.upperBound])\(credentials.user.percentEncoded)\(password)@\(url[scheme.upperBound...])"
    }

    private static func credentials(in text: String) -> Credentials? {
        let scalars = text.unicodeScalars
        guard text.utf8.contains(UInt8(ascii: "@")), let scheme = scalars.firstRange(of: "://".unicodeScalars),
            let origin = Credentials.origin(of: text)
        else { return nil }
        let authority = scalars[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let at = authority.lastIndex(of: "@") else { return nil }
        let userInfo = authority[..<at]
        let colon = userInfo.firstIndex(of: ":") ?? userInfo.endIndex
        let user = unescaped(String(userInfo[..<colon]))
        let password = unescaped(String(userInfo[colon...].dropFirst()))
        return user.isEmpty && password.isEmpty
            ? nil : Credentials(user: user, password: password, origin: origin)
    }

    private static func unescaped(_ text: String) -> String { text.removingPercentEncoding ?? text }
}
