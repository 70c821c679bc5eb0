package import PodcastLibrary
internal import TransferEngine

/// The address of a sync server as a person gives it.
package struct SyncAddress: Sendable, Equatable {
    /// Without user info, query and slash at its end.
    package let url: String
    /// As in `https://user@host`.
    package let user: String?
    /// What it speaks, where the address says so.
    package let kind: SyncAccount.Kind?

    /// Why an address is not taken, and what would be; one line.
    package struct Refusal: Error, Equatable {
        package let message: String
    }

    /// - Parameter allowsHTTP: a name and a password may go over the network for everybody to read.
    package init(_ text: String, allowsHTTP: Bool) throws(Refusal) {
        let given = PrivateAddress(text.contains("://") ? text : "https://" + text)
        guard let address = FeedAddress(given.url) else {
            throw Refusal(
                message: "'\(given.visible)' is no address of a server: give one such as https://cloud.example.com")
        }
        if let credentials = given.credentials, !credentials.password.isEmpty {
            throw Refusal(message: "do not put the password into the address: podfs asks for it, or --password-stdin")
        }
        if !address.isSecure, !allowsHTTP, !Self.isLoopback(address.host) {
            throw Refusal(
                message:
                    "\(given.visible) would send the password for everybody to read: use https://, or --allow-http in a "
                    + "network that you trust")
        }
        var url = String(given.url.prefix { $0 != "?" && $0 != "#" })
        var kind: SyncAccount.Kind?
        // As it stands in the address bar of somebody who looks at the app, or in the settings of another program.
        if let app = url.firstRange(of: "/index.php") {
            url = String(url[..<app.lowerBound])
            kind = .nextcloud
        }
        while url.hasSuffix("/") { url.removeLast() }
        self.url = url
        user = given.credentials?.user
        self.kind = kind
    }

    /// Whether what is sent there does not leave this machine.
    private static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "[::1]"
            || host.hasPrefix("127.") && host.split(separator: ".").count == 4
                && host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
    }

    /// A name for this device that the API allows (`[\w.-]+`): the host's, and something that no other installation on it
    /// has.
    package static func device(host: String, random: UInt32) -> String {
        let name = host.prefix { $0 != "." }.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        let suffix = String(random & 0xFF_FFFF | 0x100_0000, radix: 16).suffix(6)
        return "podfs-\(name.prefix(40))\(name.isEmpty ? "" : "-")\(suffix)"
    }

    /// Whether the API allows it as a device's name.
    package static func isDevice(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == "." || $0 == "-") }
    }
}
