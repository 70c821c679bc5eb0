internal import Foundation
internal import Platform
internal import PodcastFeed
internal import PodcastLibrary

/// The addresses and request bodies of the API for synchronizing with other devices, which has two variants. Pure.
///
/// One variant is the gPodder API, version 2 (https://gpoddernet.readthedocs.io/en/latest/api/). The other is that of
/// Nextcloud's gpoddersync (https://github.com/thrillfall/nextcloud-gpodder): its responses are the same, but it has no
/// devices.
struct SyncMessages: Sendable {
    let account: SyncAccount

    private var base: String { account.url }
    private var user: String { account.user.percentEncoded }

    // MARK: Addresses

    /// The login address, used only to check the credentials. No session is used, since every request accepts Basic
    /// authentication.
    var login: String { "\(base)/api/2/auth/\(user)/login.json" }

    /// The address of this device's description.
    var deviceAddress: String { "\(base)/api/2/devices/\(user)/\(account.device.percentEncoded).json" }
    /// The address of the list of the user's devices.
    var devices: String { "\(base)/api/2/devices/\(user).json" }
    /// The address at which devices are linked; gpodder.net keeps the subscriptions of unlinked devices separate.
    var linkedDevices: String { "\(base)/api/2/sync-devices/\(user).json" }

    /// Returns the address of the subscription changes since a timestamp; for `nil`, the address for uploads.
    func subscriptions(since: Int64?) -> String {
        let question = since.map { "?since=\($0)" } ?? ""
        return switch account.kind {
        case .gpodder: "\(base)/api/2/subscriptions/\(user)/\(account.device.percentEncoded).json\(question)"
        case .nextcloud:
            since == nil
                ? "\(base)/index.php/apps/gpoddersync/subscription_change/create"
                : "\(base)/index.php/apps/gpoddersync/subscriptions\(question)"
        }
    }

    /// Returns the address of the episode actions since a timestamp; for `nil`, the address for uploads.
    ///
    /// Does not set `aggregated`: with it, the server sends only the last action per episode, which may be a download
    /// that hides the playback position.
    func episodes(since: Int64?) -> String {
        let question = since.map { "?since=\($0)" } ?? ""
        return switch account.kind {
        case .gpodder: "\(base)/api/2/episodes/\(user).json\(question)"
        case .nextcloud:
            "\(base)/index.php/apps/gpoddersync/episode_action\(since == nil ? "/create" : question)"
        }
    }

    // MARK: Bodies

    /// Encodes an upload of subscription changes.
    func body(_ upload: SubscriptionUpload) -> [UInt8] { json(["add": upload.add, "remove": upload.remove]) }

    /// Encodes an upload of episode actions.
    func body(_ actions: [SyncAction]) -> [UInt8] { json(actions.map(object)) }

    /// The request body that describes this device.
    var deviceBody: [UInt8] { json(["caption": "podfs (\(account.device))", "type": "desktop"]) }

    /// Encodes the request that links this device with others.
    func linkBody(with others: [String]) -> [UInt8] {
        json(["synchronize": [[account.device] + others], "stop-synchronize": [String]()])
    }

    private func object(_ action: SyncAction) -> [String: Any] {
        var object: [String: Any] = [
            "podcast": action.podcast, "episode": action.episode, "action": action.kind.rawValue,
            "timestamp": SyncTime.text(action.timestamp),
        ]
        if let guid = action.guid { object["guid"] = guid }
        // gpoddersync has no devices, and stores all numbers in database columns; -1 means none. The gPodder API allows
        // "started" only together with "total".
        let isNextcloud = account.kind == .nextcloud
        let none = isNextcloud ? -1 : nil
        object["device"] = isNextcloud ? nil : action.device
        object["started"] = (isNextcloud || action.total != nil ? action.started : nil) ?? none
        object["position"] = action.position ?? none
        object["total"] = action.total ?? none
        return object
    }

    private func json(_ object: Any) -> [UInt8] {
        // Text and numbers only, so encoding cannot fail.
        let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
        return data.map { [UInt8]($0) } ?? []
    }
}

/// Parsing of the server's responses. Malformed entries are skipped, and so are those beyond the maximum number.
enum SyncAnswers {
    /// A response that cannot be parsed.
    struct Malformed: Error, Equatable {
        let message: String
    }

    /// The server's changes of subscriptions.
    struct Subscriptions: Sendable, Equatable {
        var add: [String] = []
        var remove: [String] = []
        var timestamp: Int64
        /// The number of entries that were not read.
        var skipped = 0
    }

    /// The server's episode actions.
    struct Actions: Sendable, Equatable {
        var actions: [SyncAction] = []
        var timestamp: Int64
        /// The number of entries that were not read.
        var skipped = 0
    }

    /// Maximum length of a text: 16 KiB, as for addresses in feeds.
    private static let longestText = 16 << 10
    /// Maximum number of entries that are read. Of a longer list of actions, the last entries are read. Of a longer
    /// list of subscriptions or of normalized addresses, the first entries are read.
    static let mostEntries = 100_000

    /// Parses a response with subscription changes.
    static func subscriptions(_ body: [UInt8]) throws(Malformed) -> Subscriptions {
        var found = Subscriptions(timestamp: -1)
        func addresses(_ scanner: inout JSONScanner) throws -> [String] {
            var texts: [String] = []
            try list(&scanner) { scanner in
                if let text = try text(scanner.value()), texts.count < mostEntries {
                    texts.append(text)
                } else {
                    found.skipped += 1
                }
            }
            return texts
        }
        try members(body) { scanner, name in
            switch name {
            case "add": found.add = try addresses(&scanner)
            case "remove": found.remove = try addresses(&scanner)
            case "timestamp": found.timestamp = try SyncTime.timestamp(scanner.value()) ?? -1
            default: try scanner.skip()
            }
        }
        guard found.timestamp >= 0 else {
            throw Malformed(message: "the server's list of subscriptions has no valid timestamp")
        }
        return found
    }

    /// Parses a response with episode actions.
    static func actions(_ body: [UInt8]) throws(Malformed) -> Actions {
        var found = Actions(timestamp: -1)
        var hasList = false
        try members(body) { scanner, name in
            switch name {
            case "actions":
                hasList = try list(&scanner) { scanner in
                    guard let action = try action(scanner.value()) else { return found.skipped += 1 }
                    found.actions.append(action)
                    if found.actions.count == 2 * mostEntries { dropExcess() }
                }
                dropExcess()
            case "timestamp": found.timestamp = try SyncTime.timestamp(scanner.value()) ?? -1
            default: try scanner.skip()
            }
        }
        func dropExcess() {
            let excess = max(0, found.actions.count - mostEntries)
            found.actions.removeFirst(excess)
            found.skipped += excess
        }
        guard found.timestamp >= 0, hasList else {
            throw Malformed(message: "the server's list of actions has no valid timestamp, or no actions")
        }
        return found
    }

    /// Parses the response to an upload: the addresses that the server has normalized. An empty body is valid, too.
    static func uploaded(_ body: [UInt8]) throws(Malformed) -> [(old: String, new: String)] {
        var renamed: [(old: String, new: String)] = []
        if body.allSatisfy({ $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }) { return renamed }
        try members(body) { scanner, name in
            guard name == "update_urls" else { return try scanner.skip() }
            try list(&scanner) { scanner in
                guard case .array(let pair) = try scanner.value(), pair.count == 2, let old = text(pair[0]),
                    case .string(let new) = pair[1], new.count <= longestText, renamed.count < mostEntries
                else { return }
                renamed.append((old, String(decoding: new, as: UTF8.self)))
            }
        }
        return renamed
    }

    /// Parses the ids of a user's devices.
    static func devices(_ body: [UInt8]) -> [String] {
        var scanner = JSONScanner(body)
        var devices: [String] = []
        // At most 100 devices are linked: an account with more is broken.
        _ = try? list(&scanner) { scanner in
            if let id = try text(scanner.value()["id"]), devices.count < 100 { devices.append(id) }
        }
        return devices
    }

    private static func action(_ value: JSONScanner.Value) -> SyncAction? {
        guard let podcast = text(value["podcast"]), let episode = text(value["episode"]),
            let kind = text(value["action"]).flatMap({ SyncAction.Kind(rawValue: $0.lowercased()) }),
            let time = SyncTime.seconds(value["timestamp"])
        else { return nil }
        func seconds(_ value: JSONScanner.Value?) -> Int? {
            SyncTime.number(value).flatMap { $0 >= 0 ? min(Int($0), SyncedState.longest) : nil }
        }
        return SyncAction(
            podcast: podcast, episode: episode, guid: text(value["guid"]), kind: kind, device: text(value["device"]),
            timestamp: time, started: seconds(value["started"]), position: seconds(value["position"]),
            total: seconds(value["total"]))
    }

    /// Calls `body` for each element of a list. Skips a value that is not a list, and returns `false`.
    @discardableResult
    private static func list(
        _ scanner: inout JSONScanner, _ body: (inout JSONScanner) throws -> Void
    ) throws -> Bool {
        guard scanner.peek() == UInt8(ascii: "[") else {
            try scanner.skip()
            return false
        }
        try scanner.elements(body)
        return true
    }

    /// Calls `body` with the name of each member of a response, so that only one entry is in memory besides the bytes
    /// and the result. `body` has to consume the value.
    private static func members(
        _ body: [UInt8], _ read: (inout JSONScanner, String) throws -> Void
    ) throws(Malformed) {
        if DocumentStart.isMarkup(body) {
            throw Malformed(
                message: "the server answered with a web page: check the address (podfs sync login); a login page or a "
                    + "proxy may intercept requests")
        }
        var scanner = JSONScanner(body)
        do {
            try scanner.members { scanner, name in try read(&scanner, String(decoding: name, as: UTF8.self)) }
        } catch {
            throw Malformed(message: "the server's answer is malformed")
        }
        if scanner.peek() != nil { throw Malformed(message: "the server's answer is malformed") }
    }

    private static func text(_ value: JSONScanner.Value?) -> String? {
        guard case .string(let text)? = value, !text.isEmpty, text.count <= longestText else { return nil }
        return String(decoding: text, as: UTF8.self)
    }
}

/// Times in the API's format: ISO 8601 in UTC without a zone.
enum SyncTime {
    /// Formats a time given in seconds since 1970.
    static func text(_ seconds: Int64) -> String {
        String(PublicationDate(seconds: seconds, offset: 0).iso8601.dropLast())
    }

    /// Parses the timestamp of a response, in seconds since 1970; `nil` if absent or invalid. It is stored, and sent
    /// back to the server with the next request.
    static func timestamp(_ value: JSONScanner.Value?) -> Int64? {
        number(value).flatMap { (0...SyncTimeRange.latest).contains($0) ? $0 : nil }
    }

    /// Parses a time, with or without a zone and a fraction, into seconds since 1970. Some servers send that number
    /// instead of a text.
    static func seconds(_ value: JSONScanner.Value?) -> Int64? {
        if let number = number(value) {
            return (-SyncTimeRange.latest...SyncTimeRange.latest).contains(number) ? number : nil
        }
        // The length of a date with a time, and the first digit of a year.
        guard case .string(let bytes)? = value, (19..<64).contains(bytes.count), (0x30...0x39).contains(bytes[0]) else {
            return nil
        }
        return PublicationDate(parsing: String(decoding: bytes, as: UTF8.self))?.seconds
    }

    /// Parses a 64-bit whole number, which may be written as text. Truncates a JSON number with a fraction.
    static func number(_ value: JSONScanner.Value?) -> Int64? {
        switch value {
        case .number(let number)? where abs(number) < 9e15: Int64(number)
        case .string(let text)? where text.count < 20: Int64(String(decoding: text, as: UTF8.self))
        default: nil
        }
    }
}
