import CCurl
import CLinux
import Glibc
import Platform
import TestSupport
import Testing

/// Compares the host and port on which podfs bases its decisions with those to which libcurl connects.
struct WebAddressPropertyTests {
    private static let ports = [80, 443, 8080, 65_535, 1]

    /// The number of addresses; `PODFS_ADDRESSES` changes it, and `PODFS_SEED` the seed.
    private static let count = environmentNumber("PODFS_ADDRESSES", otherwise: 2_000)

    @Test func theHostAndPortAreThoseToWhichLibcurlConnects() throws {
        let seed = environmentNumber("PODFS_SEED", otherwise: 1)
        var random = SeededGenerator(seed: UInt64(seed))
        var accepted = 0
        for _ in 0..<Self.count {
            let text = Self.address(&random)
            guard let address = try? WebAddress(text) else { continue }
            accepted += 1
            let connection = try #require(Connection(address))
            #expect(connection.peer == connection.expected, "\(text.debugDescription) with seed \(seed)")
            #expect(WebAddress.isValid(text))
            #expect(WebAddress.origin(of: address.withoutUserInfo) == address.origin, "\(text.debugDescription)")
        }
        // The generator would be useless if nearly everything were refused, or nothing.
        #expect(accepted > Self.count / 10 && accepted < Self.count * 9 / 10)
    }

    /// Returns an address made of pieces that parsers divide differently.
    private static func address(_ random: inout SeededGenerator) -> String {
        let pieces = [
            "a.example", "b.example", "A.Example.", "127.0.0.1", "127.1", "0x7f000001", "[::1]", "[::ffff:127.0.0.1]",
            "secret", "secret:", "@", "\\", "/", "?", "#", ":", "%40", "%2f", "%5c", "%00", " ", "\t", "\u{85}",
            "\u{202E}",
            "。", "／", "＠", "ü", "bücher.example", ";", "&", "=", "..", "[", "]", "//", "user", "user:secret@", "80",
            "443",
            "xn--bcher-kva.example", "\u{301}", "~", "|", "^", "`", "{", "\"", "<",
        ]
        let ends = ["", "", "/", "/a.mp3", "?q", "#f", "/\\@b.example/", "?\\@b.example/"]
        let scheme = ["http://", "https://", "HTTP://", "http:/", "http:///", "//", ""].randomElement(using: &random)
        var text = Int.random(in: 0..<10, using: &random) == 0 ? scheme ?? "" : "http://"
        if Bool.random(using: &random) {
            text += ["user@", "user:secret@", "a.example:80@", "u%40v@"].randomElement(using: &random) ?? ""
        }
        let count = [1, 1, 1, 2, 2, 3, 5].randomElement(using: &random) ?? 1
        for _ in 0..<count { text += pieces.randomElement(using: &random) ?? "" }
        if Bool.random(using: &random), let port = ports.randomElement(using: &random) { text += ":\(port)" }
        return text + (ends.randomElement(using: &random) ?? "")
    }
}

/// A request that ends before it connects: the socket callback records the peer, and refuses the socket.
private final class Connection {
    /// The peer that podfs expects: an IP address and a port; "none" if the name cannot be looked up.
    let expected: String
    /// The peer to which libcurl would have connected.
    private(set) var peer = "none"

    /// The IP address of the expected host, if that is a name.
    private static let ownAddress = "127.20.0.1"
    /// The IP address of the names that the generated addresses contain.
    private static let otherAddress = "127.20.0.2"
    private static let names = ["a.example", "b.example", "secret", "user", "xn--bcher-kva.example"]

    init?(_ address: WebAddress) {
        guard curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK, let handle = curl_easy_init() else { return nil }
        defer { curl_easy_cleanup(handle) }
        let bare = address.host.hasPrefix("[") ? String(address.host.dropFirst().dropLast()) : address.host
        var answers: UnsafeMutablePointer<curl_slist>?
        defer { curl_slist_free_all(answers) }
        if let number = Self.canonical(bare) {
            expected = "\(number) \(address.port)"
        } else if let name = Self.lookupName(address.host) {
            expected = "\(Self.ownAddress) \(address.port)"
            for name in [name, name + "."] {
                answers = curl_slist_append(answers, "\(name):\(address.port):\(Self.ownAddress)")
            }
            for other in Self.names where other != name {
                answers = curl_slist_append(answers, "\(other):\(address.port):\(Self.otherAddress)")
            }
        } else {
            expected = "none"
        }
        ccurl_set_list(handle, CURLOPT_RESOLVE, answers)
        ccurl_set_string(handle, CURLOPT_PROXY, "")
        ccurl_set_web_only(handle)
        ccurl_set_pointer(handle, CURLOPT_OPENSOCKETDATA, Unmanaged.passUnretained(self).toOpaque())
        ccurl_set_open_socket_callback(handle) { context, _, address in
            guard let context, let address else { return CURL_SOCKET_BAD }
            let bytes = UnsafeRawBufferPointer(
                start: ccurl_socket_address(address), count: Int(address.pointee.addrlen))
            Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().record(bytes)
            return CURL_SOCKET_BAD
        }
        ccurl_set_string(handle, CURLOPT_URL, address.text)
        curl_easy_perform(handle)
    }

    private func record(_ bytes: UnsafeRawBufferPointer) {
        let family = Int32(bytes.loadUnaligned(as: UInt16.self))
        let start = bytes.baseAddress?.advanced(by: family == AF_INET ? 4 : 8)
        peer = "\(Self.text(family, start)) \(Int(bytes[2]) << 8 | Int(bytes[3]))"
    }

    /// Returns the name that is looked up for a host (RFC 5891 §4); `nil` if it has none.
    private static func lookupName(_ host: String) -> String? {
        guard let url = curl_url() else { return nil }
        defer { curl_url_cleanup(url) }
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_set(url, CURLUPART_URL, "http://\(host)/", 0) == CURLUE_OK,
            curl_url_get(url, CURLUPART_HOST, &text, UInt32(CURLU_PUNYCODE)) == CURLUE_OK, let text
        else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }

    /// Returns a numeric address as inet_ntop(3) writes it; `nil` for a name.
    private static func canonical(_ address: String) -> String? {
        var bytes = in6_addr()
        for family in [AF_INET, AF_INET6] where inet_pton(family, address, &bytes) == 1 {
            return text(family, &bytes)
        }
        return nil
    }

    private static func text(_ family: Int32, _ bytes: UnsafeRawPointer?) -> String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        inet_ntop(family, bytes, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
