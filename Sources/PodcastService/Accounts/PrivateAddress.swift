internal import Platform
package import Transfers

/// The address of a feed or a server, separated from the credentials that it may contain.
package struct PrivateAddress: Sendable, Equatable {
    /// The address without user info, as stored in the library and requested from the server.
    package let url: String
    /// The credentials of the user info (RFC 3986 §3.2.1), unescaped; `nil` if there are none, or they are empty.
    package let credentials: Credentials?
}

extension PrivateAddress {
    package init(_ text: String) {
        url = WebAddress.withoutUserInfo(text)
        guard url != text, let address = try? WebAddress(text), let (user, password) = address.userInfo,
            !(user.isEmpty && password.isEmpty)
        else {
            credentials = nil
            return
        }
        credentials = Credentials(user: user, password: password, origin: address.origin)
    }

    /// The address with secrets redacted, for display.
    package var visible: String { WebAddress.redacted(url, isPrivate: credentials != nil) }

    /// The address with its credentials as user info, for other programs.
    package var whole: String {
        guard let credentials, let address = try? WebAddress(url) else { return url }
        return address.with(user: credentials.user, password: credentials.password)
    }
}
