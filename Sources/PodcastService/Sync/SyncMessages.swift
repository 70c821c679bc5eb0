internal import Platform
internal import Foundation
internal import PodcastFeed
package import PodcastLibrary

/// The addresses and request bodies of the API for synchronizing with other devices, which has two variants. Pure.
///
/// One variant is the gPodder API, version 2 (https://gpoddernet.readthedocs.io/en/latest/api/). The other is that of
/// Nextcloud's gpoddersync (https://github.com/thrillfall/nextcloud-gpodder): its responses are the same, but it has no
/// devices.
package struct SyncMessages: Sendable {
    package let kind: SyncAccount.Kind
    /// The server's address.
    package let base: String
    package let user: String
    package let device: String

    package init(kind: SyncAccount.Kind, base: String, user: String, device: String) {
        self.kind = kind
        self.base = base
        self.user = user
        self.device = device
    }

    package init(_ account: SyncAccount) {
        self.init(kind: account.kind, base: account.url, user: account.user, device: account.device)
    }

    // MARK: Addresses

    /// The login address, used only to check the credentials. No session is used, since every request accepts Basic
    /// authentication.
    package var login: String { "\(base)/api/2/auth/\(user.percentEncoded)/login.json" }

    /// The address of this device's description.
    package var deviceAddress: String { "\(base)/api/2/devices/\(user.percentEncoded)/\(device.percentEncoded).json" }
    /// The address of the list of the user's devices.
    package var devices: String { "\(base)/api/2/devices/\(user.percentEncoded).json" }
    /// The address at which devices are linked; gpodder.net keeps the subscriptions of unlinked devices separate.
    package var linkedDevices: String { "\(base)/api/2/sync-devices/\(user.percentEncoded).json" }

    /// Returns the address of the subscription changes since a timestamp; for `nil`, the address for uploads.
    package func subscriptions(since: Int64?) -> String {
        let question = since.map { "?since=\($0)" } ?? ""
        return switch kind {
        case .gpodder: "\(base)/api/2/subscriptions/\(user.percentEncoded)/\(device.percentEncoded).json\(question)"
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
    package func episodes(since: Int64?) -> String {
        let question = since.map { "?since=\($0)" } ?? ""
        return switch kind {
        case .gpodder: "\(base)/api/2/episodes/\(user.percentEncoded).json\(question)"
        case .nextcloud:
            "\(base)/index.php/apps/gpoddersync/episode_action\(since == nil ? "/create" : question)"
        }
    }

    // MARK: Bodies

    /// Encodes an upload of subscription changes.
    package func body(_ upload: SubscriptionUpload) -> [UInt8] {
        json(["add": upload.add, "remove": upload.remove])
    }

    /// Encodes an upload of episode actions.
    package func body(_ actions: [SyncAction]) -> [UInt8] { json(actions.map(object)) }

    /// The request body that describes this device.
    package var deviceBody: [UInt8] { json(["caption": "podfs (\(device))", "type": "desktop"]) }

    /// Encodes the request that links this device with others.
    package func linkBody(with others: [String]) -> [UInt8] {
        json(["synchronize": [[device] + others], "stop-synchronize": [String]()])
    }

    private func object(_ action: SyncAction) -> [String: Any] {
        var object: [String: Any] = [
            "podcast": action.podcast, "episode": action.episode, "action": action.kind.rawValue,
            "timestamp": SyncTime.text(action.timestamp),
        ]
        if let guid = action.guid { object["guid"] = guid }
        switch kind {
        case .gpodder:
            object["device"] = action.device
            object["started"] = action.started
            object["position"] = action.position
            object["total"] = action.total
            // The gPodder API allows "started" only together with "total".
            if action.total == nil { object["started"] = nil }
        case .nextcloud:
            // gpoddersync stores all three in database columns; -1 means none.
            object["started"] = action.started ?? -1
            object["position"] = action.position ?? -1
            object["total"] = action.total ?? -1
        }
        return object
    }

    private func json(_ object: Any) -> [UInt8] {
        // Text and numbers only, so encoding cannot fail.
        let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
        return data.map { [UInt8]($0) } ?? []
    }
}

/// Parsing of the server's responses. Malformed entries are skipped, and so are those beyond the maximum number. In
/// lists of subscriptions and actions, the skipped entries are also counted.
package enum SyncAnswers {
    /// A response that cannot be parsed.
    package struct Malformed: Error, Equatable {
        package let message: String
    }

    /// The numbers of entries that were not read.
    package struct Skipped: Sendable, Equatable {
        package var malformed = 0
        /// The number of entries beyond `mostEntries`.
        package var excess = 0

        package init(malformed: Int = 0, excess: Int = 0) {
            self.malformed = malformed
            self.excess = excess
        }

        /// Returns the lines to log.
        ///
        /// - Parameter entries: A noun phrase for the entries, such as "the server's actions".
        package func warnings(_ entries: String) -> [String] {
            var lines: [String] = []
            if malformed > 0 { lines.append("\(malformed) of \(entries) are malformed") }
            if excess > 0 {
                lines.append("\(excess) of \(entries) were ignored: no more than \(mostEntries) are read")
            }
            return lines
        }
    }

    /// The server's changes of subscriptions.
    package struct Subscriptions: Sendable, Equatable {
        package var add: [String]
        package var remove: [String]
        package var timestamp: Int64
        package var skipped = Skipped()
    }

    /// The server's episode actions.
    package struct Actions: Sendable, Equatable {
        package var actions: [SyncAction]
        package var timestamp: Int64
        package var skipped = Skipped()
    }

    /// The response to an upload.
    package struct Uploaded: Sendable, Equatable {
        /// An address that the server has normalized.
        package struct Renamed: Sendable, Equatable {
            package var old: String
            package var new: String
        }

        /// `nil` if the server sends none, as old versions of gpoddersync do.
        package var timestamp: Int64?
        package var renamed: [Renamed]
    }

    /// Maximum length of a text: 16 KiB, as for addresses in feeds.
    private static let longestText = 16 << 10
    /// Maximum number of entries that are read. Of a longer list of actions, the last entries are read. Of a longer
    /// list of subscriptions or of normalized addresses, the first entries are read.
    package static let mostEntries = 100_000

    /// Parses a response with subscription changes.
    package static func subscriptions(_ body: [UInt8]) throws(Malformed) -> Subscriptions {
        let object = try object(body)
        guard let timestamp = SyncTime.timestamp(object["timestamp"]) else {
            throw Malformed(message: "the server's list of subscriptions has no valid timestamp")
        }
        var skipped = Skipped()
        func list(_ key: String) -> [String] {
            let all = object[key] as? [Any] ?? []
            let entries = all.prefix(mostEntries)
            let texts = entries.compactMap { text($0) }
            skipped.malformed += entries.count - texts.count
            skipped.excess += all.count - entries.count
            return texts
        }
        let (add, remove) = (list("add"), list("remove"))
        return Subscriptions(add: add, remove: remove, timestamp: timestamp, skipped: skipped)
    }

    /// Parses a response with episode actions.
    package static func actions(_ body: [UInt8]) throws(Malformed) -> Actions {
        let object = try object(body)
        guard let timestamp = SyncTime.timestamp(object["timestamp"]), let entries = object["actions"] as? [Any] else {
            throw Malformed(message: "the server's list of actions has no valid timestamp, or no actions")
        }
        let last = entries.suffix(mostEntries)
        let actions = last.compactMap { action($0) }
        return Actions(
            actions: actions, timestamp: timestamp,
            skipped: Skipped(malformed: last.count - actions.count, excess: entries.count - last.count))
    }

    /// Parses the response to an upload.
    package static func uploaded(_ body: [UInt8]) throws(Malformed) -> Uploaded {
        // An empty body is valid, too.
        if body.allSatisfy({ $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }) {
            return Uploaded(timestamp: nil, renamed: [])
        }
        let object = try object(body)
        let pairs = (object["update_urls"] as? [Any] ?? []).prefix(mostEntries)
        let renamed = pairs.compactMap { pair -> Uploaded.Renamed? in
            guard let pair = pair as? [Any], pair.count == 2, let old = text(pair[0]), let new = pair[1] as? String,
                new.utf8.count <= longestText
            else { return nil }
            return Uploaded.Renamed(old: old, new: new)
        }
        return Uploaded(timestamp: SyncTime.timestamp(object["timestamp"]), renamed: renamed)
    }

    /// Parses the ids of a user's devices.
    package static func devices(_ body: [UInt8]) -> [String] {
        guard let list = try? JSONSerialization.jsonObject(with: Data(body)) as? [Any] else { return [] }
        // At most 100 devices are linked: an account with more is broken.
        return list.prefix(100).compactMap { ($0 as? [String: Any])?["id"].flatMap { text($0) } }
    }

    private static func action(_ value: Any) -> SyncAction? {
        guard let object = value as? [String: Any], let podcast = text(object["podcast"]),
            let episode = text(object["episode"]),
            let kind = (object["action"] as? String).flatMap({ SyncAction.Kind(rawValue: $0.lowercased()) }),
            let time = SyncTime.seconds(object["timestamp"])
        else { return nil }
        func seconds(_ key: String) -> Int? {
            SyncTime.number(object[key]).flatMap { $0 >= 0 ? min(Int($0), SyncedState.longest) : nil }
        }
        return SyncAction(
            podcast: podcast, episode: episode, guid: text(object["guid"]), kind: kind, device: text(object["device"]),
            timestamp: time, started: seconds("started"), position: seconds("position"), total: seconds("total"))
    }

    private static func object(_ body: [UInt8]) throws(Malformed) -> [String: Any] {
        if DocumentStart.isMarkup(body) {
            throw Malformed(
                message: "the server answered with a web page: check the address (podfs sync login); a login page or a "
                    + "proxy may intercept requests")
        }
        guard let object = try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any] else {
            throw Malformed(message: "the server's answer is malformed")
        }
        return object
    }

    private static func text(_ value: Any?) -> String? {
        guard let text = value as? String, !text.isEmpty, text.utf8.count <= longestText else { return nil }
        return text
    }

}

/// Times in the API's format: ISO 8601 in UTC without a zone.
package enum SyncTime {
    /// Formats a time given in seconds since 1970.
    package static func text(_ seconds: Int64) -> String {
        String(PublicationDate(seconds: seconds, offset: 0).iso8601.dropLast())
    }

    /// Parses the timestamp of a response, in seconds since 1970; `nil` if absent or invalid. It is stored, and sent
    /// back to the server with the next request.
    static func timestamp(_ value: Any?) -> Int64? {
        number(value).flatMap { (0...SyncTimeRange.latest).contains($0) ? $0 : nil }
    }

    /// Parses a time, with or without a zone and a fraction, into seconds since 1970. Some servers send that number
    /// instead of a text.
    package static func seconds(_ value: Any?) -> Int64? {
        if let number = number(value) {
            return (-SyncTimeRange.latest...SyncTimeRange.latest).contains(number) ? number : nil
        }
        return (value as? String).flatMap { hasTime($0) ? PublicationDate(parsing: $0)?.seconds : nil }
    }

    /// Whether the text has the length of a date with a time, and begins with the digit of a year.
    private static func hasTime(_ text: String) -> Bool {
        (19..<64).contains(text.utf8.count) && text.utf8.first.map { (0x30...0x39).contains($0) } ?? false
    }

    /// Parses a 64-bit whole number, which may be written as text. Truncates a JSON number with a fraction.
    static func number(_ value: Any?) -> Int64? {
        if let number = value as? Int64 { return number }
        if let number = value as? Int { return Int64(number) }
        if let number = value as? Double, number.isFinite, abs(number) < 9e15 { return Int64(number) }
        if let text = value as? String, text.utf8.count < 20 { return Int64(text) }
        return nil
    }
}
