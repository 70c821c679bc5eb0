internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

/// A login to a sync server, which detects the server's protocol, and checks the name and password.
struct SyncLogin: Sendable {
    let client: SyncClient
    let address: SyncAddress
    let user: String

    /// Checks the credentials and, if `kind` is `nil`, detects the protocol.
    ///
    /// - Parameter kind: the protocol. If `nil`, the protocol stated by the address is tried, or all protocols in turn
    ///   if the address states none.
    /// - Returns: the protocol.
    /// - Throws: `SyncFailure`.
    func probe(_ kind: SyncAccount.Kind?) async throws -> SyncAccount.Kind {
        let kinds = (kind ?? address.kind).map { [$0] } ?? SyncAccount.Kind.allCases
        var failure: SyncFailure?
        for kind in kinds {
            do {
                try await check(kind)
                return kind
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
                "\(address.url) is neither a gPodder server nor a Nextcloud with the app GPodder Sync; check the address"
        )
    }

    private func check(_ kind: SyncAccount.Kind) async throws {
        let messages = SyncMessages(
            account: SyncAccount(url: address.url, user: user, device: "podfs", kind: kind))
        switch kind {
        case .gpodder:
            let answer = try await client.send(messages.login, body: Array("{}".utf8))
            // Nextcloud answers this address with its login page, and some sites answer every request with a page.
            if DocumentStart.isMarkup(answer.body) {
                throw SyncFailure(code: .missing, message: "\(address.url) answered with a web page")
            }
        case .nextcloud:
            let answer = try await client.send(messages.subscriptions(since: Self.farFuture))
            do {
                _ = try SyncAnswers.subscriptions(answer.body)
            } catch {
                throw SyncFailure(code: .missing, message: error.message)
            }
        }
    }

    /// A timestamp in the future (2^31 - 1), so that the response lists no changes.
    private static let farFuture: Int64 = 2_147_483_647

    /// Registers the device, and makes the server synchronize it with the account's other devices. Servers without this
    /// function have one list for all devices.
    func register(_ messages: SyncMessages) async throws {
        guard messages.account.kind == .gpodder else { return }
        do {
            _ = try await client.send(messages.deviceAddress, body: messages.deviceBody)
            let others = SyncAnswers.devices(try await client.send(messages.devices).body).filter {
                $0 != messages.account.device
            }
            if !others.isEmpty {
                _ = try await client.send(messages.linkedDevices, body: messages.linkBody(with: others))
            }
        } catch let failure as SyncFailure where failure.code != .refused && failure.retryAfter == nil {
            // Ignore the failure: some servers have no devices, and oPodSync answers 503 to the last of these requests.
        }
    }
}
