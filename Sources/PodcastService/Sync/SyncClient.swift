internal import Platform
internal import Transfers

/// The failure of a request to the sync server.
struct SyncFailure: Error, Sendable {
    enum Code: Sendable {
        /// No response, or a status after which a later retry may succeed.
        case unavailable
        /// Name and password are wrong, or no longer valid.
        case refused
        /// The resource does not exist on this server.
        case missing
        /// The request is too large, or the server rejects a part of it.
        case rejected
        /// The response is malformed, incomplete or a redirect.
        case unusable
    }

    var code: Code
    /// The message, one line without secrets.
    var message: String
    /// The pause that the server demands (Retry-After).
    var retryAfter: Duration?
}

/// The client for a sync server. Redirects are not followed: the password is sent only to the address for which it
/// was entered.
struct SyncClient: Sendable {
    let engine: TransferEngine
    let credentials: Credentials?

    /// Maximum size of a response in bytes: enough for a hundred thousand actions of 300 bytes, and as much again for
    /// long addresses.
    private static let largestResponse = 64 << 20
    /// Timeout of a request.
    private static let timeout = Duration.seconds(120)

    /// Sends a request, and returns the response if its status is 2xx.
    ///
    /// - Parameter body: sent by POST; `nil` sends a GET.
    /// - Throws: `SyncFailure`; or `CancellationError` if the task was cancelled, so that the caller does not blame the
    ///   server.
    func send(_ url: String, body: [UInt8]? = nil) async throws -> (head: ResponseHead, body: [UInt8]) {
        var request = DataRequest(url: url, limit: Self.largestResponse)
        request.credentials = credentials
        request.timeout = Self.timeout
        request.followsRedirects = false
        request.body = body
        // The Nextcloud app gpoddersync requires the second field, because scripts of other web sites cannot make a
        // browser send it.
        request.fields = [("Accept", "application/json"), ("OCS-APIRequest", "true")]
        if body != nil { request.fields.append(("Content-Type", "application/json")) }
        do {
            let (head, body) = try await engine.response(to: request)
            if (200...299).contains(head.status) { return (head, body) }
            throw Self.failure(head, host(url))
        } catch let error as TransferError {
            let code: SyncFailure.Code =
                error.code == .unreachable || error.code == .timedOut ? .unavailable : .unusable
            throw SyncFailure(code: code, message: "\(host(url)): \(error.message)")
        }
    }

    /// Sends a request, and parses the response. Throws `SyncFailure` also if that is malformed.
    ///
    /// - Returns: the result of `parse`, and the address space of the server's IP address.
    func send<Value>(
        _ url: String, body: [UInt8]? = nil, _ parse: ([UInt8]) throws(SyncAnswers.Malformed) -> Value
    ) async throws -> (value: Value, space: AddressSpace) {
        let response = try await send(url, body: body)
        do {
            return (try parse(response.body), response.head.space ?? .public)
        } catch {
            throw SyncFailure(code: .unusable, message: "\(host(url)): \(error.message)")
        }
    }

    private func host(_ url: String) -> String { WebAddress.host(of: url) }

    private static func failure(_ head: ResponseHead, _ host: String) -> SyncFailure {
        let says = "\(host): the server answered \(head.status)"
        switch head.status {
        case 300...399:
            let target = head["location"].map { PrivateAddress($0).visible } ?? "another address"
            return SyncFailure(
                code: .unusable,
                message: "\(says) and redirects to \(target); log in at that address with podfs sync login")
        case 401, 403:
            return SyncFailure(
                code: .refused,
                message: "\(says): it refuses the name or the password; enter them again with podfs sync login")
        case 404, 405, 410, 501: return SyncFailure(code: .missing, message: "\(says): it has no such service")
        case 400, 413, 414, 422:
            return SyncFailure(code: .rejected, message: "\(says): it rejects the request")
        default:
            let pause = head.retryAfter.map { max(.seconds(1), min($0, SyncSchedule.longestHold)) }
            return SyncFailure(code: .unavailable, message: says, retryAfter: pause)
        }
    }
}
