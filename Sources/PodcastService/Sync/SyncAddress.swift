internal import Platform
internal import PodcastLibrary
internal import Transfers

/// The address of a sync server, as entered by a person.
struct SyncAddress: Sendable, Equatable {
    /// The address without user info, query, fragment, and slashes at its end.
    let url: String
    /// The user, as in `https://user@host`.
    let user: String?
    /// The protocol, if the address implies it.
    let kind: SyncAccount.Kind?

    /// The rejection of an address, with a one-line message that says what to enter instead.
    struct Refusal: Error, Equatable {
        let message: String
    }

    /// - Parameter allowsHTTP: whether name and password may be sent unencrypted.
    init(_ text: String, allowsHTTP: Bool) throws(Refusal) {
        let given = PrivateAddress(text.contains("://") ? text : "https://" + text)
        guard let address = try? WebAddress(given.url) else {
            throw Refusal(
                message: "'\(given.visible)' is not a server's address: give one such as https://cloud.example.com")
        }
        if let credentials = given.credentials, !credentials.password.isEmpty {
            throw Refusal(
                message:
                    "do not put the password into the address: podfs asks for it, or reads it with --password-stdin")
        }
        if !address.isSecure, !allowsHTTP, !Self.isLoopback(address.host) {
            throw Refusal(
                message:
                    "\(given.visible) would send the password unencrypted: use https://, or --allow-http in a "
                    + "network that you trust")
        }
        var url = String(given.url.prefix { $0 != "?" && $0 != "#" })
        var kind: SyncAccount.Kind?
        // Remove the path from `/index.php` on. It is present if the address was copied from a browser that shows a
        // Nextcloud page, or from another program's settings.
        if let app = url.firstRange(of: "/index.php") {
            url = String(url[..<app.lowerBound])
            kind = .nextcloud
        }
        while url.hasSuffix("/") { url.removeLast() }
        self.url = url
        user = given.credentials?.user
        self.kind = kind
    }

    /// Returns whether requests to the host stay on this machine.
    private static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "[::1]"
            || host.hasPrefix("127.") && host.split(separator: ".").count == 4
                && host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
    }

    /// Returns a device name that the gPodder API allows (`[\w.-]+`). It contains the host's name, and a suffix that
    /// distinguishes this installation from others on the host.
    static func device(host: String, random: UInt32) -> String {
        let name = host.prefix { $0 != "." }.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        let suffix = String(random & 0xFF_FFFF | 0x100_0000, radix: 16).suffix(6)
        return "podfs-\(name.prefix(40))\(name.isEmpty ? "" : "-")\(suffix)"
    }

    /// Returns whether the gPodder API allows a device name.
    static func isDevice(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == "." || $0 == "-") }
    }
}
