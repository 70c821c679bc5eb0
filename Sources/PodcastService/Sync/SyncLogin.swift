internal import Glibc
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

/// The address of a sync server, as entered by a person.
struct SyncAddress: Sendable, Equatable {
    /// The address without user info, query, fragment, and slashes at its end.
    let url: String
    /// The user, as in `https://user@host`.
    let user: String?
    /// The protocol, if the address implies it.
    let kind: SyncAccount.Kind?

    /// - Parameter allowsHTTP: whether name and password may be sent unencrypted.
    /// - Throws: a rejection that says what to enter instead.
    init(_ text: String, allowsHTTP: Bool) throws(Failure) {
        func refusal(_ message: String) -> Failure { Failure(kind: .usage, message: message) }
        let given = PrivateAddress(text.contains("://") ? text : "https://" + text)
        guard let address = try? WebAddress(given.url) else {
            throw refusal("'\(given.visible)' is not a server's address: give one such as https://cloud.example.com")
        }
        if let credentials = given.credentials, !credentials.password.isEmpty {
            throw refusal(
                "do not put the password into the address: podfs asks for it, or reads it with --password-stdin")
        }
        if !address.isSecure, !allowsHTTP, ReachPolicy().space(ofHost: address.host) != .loopback {
            throw refusal(
                "\(given.visible) would send the password unencrypted: use https://, or --allow-http in a network "
                    + "that you trust")
        }
        var url = String(given.url.prefix { $0 != "?" && $0 != "#" })
        // Remove the path from `/index.php` on. It is present if the address was copied from a browser that shows a
        // Nextcloud page, or from another program's settings.
        let app = url.firstRange(of: "/index.php")
        if let app { url = String(url[..<app.lowerBound]) }
        while url.hasSuffix("/") { url.removeLast() }
        self.url = url
        user = given.credentials?.user
        kind = app == nil ? nil : .nextcloud
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

    /// The name of this computer; empty if it is unknown.
    static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

// The login to a sync server, which detects the server's protocol, and checks the name and password.
extension SyncClient {
    /// Returns `account` with the first of several protocols that the server has. Throws `SyncFailure` if the server
    /// has none of them, or refuses the credentials.
    func logIn(to account: SyncAccount, kinds: [SyncAccount.Kind]) async throws -> SyncAccount {
        var failure: SyncFailure?
        for kind in kinds {
            var account = account
            account.kind = kind
            do {
                try await check(SyncMessages(account: account))
                return account
            } catch let found as SyncFailure {
                // If the server is unavailable, the other protocol need not be tried.
                if found.code == .unavailable { throw found }
                // A refusal is more informative than a missing resource of the other protocol.
                if failure == nil || failure?.code == .missing || found.code == .refused { failure = found }
            }
        }
        if let failure, failure.code != .missing { throw failure }
        throw SyncFailure(
            code: .missing,
            message:
                "\(account.url) is neither a gPodder server nor a Nextcloud with the app GPodder Sync; check the address"
        )
    }

    private func check(_ messages: SyncMessages) async throws {
        switch messages.account.kind {
        case .gpodder:
            let body = try await send(messages.login, body: Array("{}".utf8)).body
            // Nextcloud answers this address with its login page, and some sites answer every request with a page.
            if DocumentStart.isMarkup(body) { throw SyncFailure(code: .missing, message: "a web page") }
        case .nextcloud:
            // A timestamp in the future (2^31 - 1), so that the response lists no changes.
            let body = try await send(messages.subscriptions(since: 2_147_483_647)).body
            do {
                _ = try SyncAnswers.subscriptions(body)
            } catch {
                throw SyncFailure(code: .missing, message: error.message)
            }
        }
    }

    /// Registers the device, and makes the server synchronize it with the account's other devices. Servers without this
    /// function have one list for all devices.
    func register(_ messages: SyncMessages) async throws {
        guard messages.account.kind == .gpodder else { return }
        do {
            _ = try await send(messages.deviceAddress, body: messages.deviceBody)
            let others = SyncAnswers.devices(try await send(messages.devices).body).filter {
                $0 != messages.account.device
            }
            if !others.isEmpty { _ = try await send(messages.linkedDevices, body: messages.linkBody(with: others)) }
        } catch let failure as SyncFailure where failure.code != .refused && failure.retryAfter == nil {
            // Ignore the failure: some servers have no devices, and oPodSync answers 503 to the last of these requests.
        }
    }
}
