import Foundation
import Glibc

/// The data of the only account of the tests' sync server.
struct SyncServerState: Sendable {
    struct Entry: Sendable {
        var subscribed: Bool
        var changed: Int64
    }

    struct Action: Sendable {
        var content: [String: any Sendable]
        /// The content as text, for comparisons.
        var text: String
        var uploaded: Int64
        /// The time stated by the device.
        var happened: Int64
    }

    var manner: SyncServer.Manner
    /// The number of each device's synchronization group; devices with the same number share a list.
    var devices: [String: Int] = [:]
    /// The subscription lists, by the number of the group; the account's own list has the number 0.
    private var lists: [Int: [String: Entry]] = [:]
    var actions: [Action] = []
    private var lastGroup = 0

    init(manner: SyncServer.Manner) { self.manner = manner }

    /// The current time by the server's clock, in whole seconds since 1970.
    var now: Int64 { Int64(time(nil)) + manner.clockSkew }

    // MARK: Devices

    mutating func addDevice(_ name: String) {
        guard devices[name] == nil else { return }
        lastGroup += 1
        devices[name] = lastGroup
    }

    /// Links devices: from now on they share one list, the union of theirs. Returns `false` if a device is unknown.
    mutating func link(_ names: [String]) -> Bool {
        guard names.allSatisfy({ devices[$0] != nil }), let first = names.first, let group = devices[first]
        else {
            return false
        }
        for name in names.dropFirst() {
            guard let old = devices[name], old != group else { continue }
            for (url, entry) in lists.removeValue(forKey: old) ?? [:] where entry.subscribed {
                if lists[group]?[url]?.subscribed != true {
                    let entry = Entry(subscribed: true, changed: now)
                    lists[group, default: [:]][url] = entry
                }
            }
            // Each show is new for some of the linked devices. Set its time of change, so that these devices get it.
            let moment = now
            for (url, entry) in lists[group] ?? [:] where entry.subscribed { lists[group]?[url]?.changed = moment }
            for (other, its) in devices where its == old { devices[other] = group }
        }
        return true
    }

    var linkStatus: [String: any Sendable] {
        let groups = Dictionary(grouping: devices.keys.sorted()) { devices[$0] ?? 0 }.values
        return [
            "synchronized": groups.filter { $0.count > 1 }.map { $0 },
            "not-synchronized": groups.filter { $0.count == 1 }.flatMap { $0 },
        ]
    }

    /// Returns the number of the list that a device uses: that of its group, or 0 for the account's list; `nil` if the
    /// devices have lists of their own and this one is unknown. Nextcloud's app has one list and no devices.
    private func list(of device: String) -> Int? {
        manner.keepsDevicesApart && !device.isEmpty ? devices[device] : 0
    }

    // MARK: Subscriptions

    func subscriptions(of device: String) -> Set<String> {
        Set((list(of: device).flatMap { lists[$0] } ?? [:]).lazy.filter(\.value.subscribed).map(\.key))
    }

    /// - Returns: The pairs of `update_urls`: an address as sent, and its normal form on the server.
    mutating func change(add: [String], remove: [String], device: String) -> [[String]] {
        if !device.isEmpty { addDevice(device) }
        guard let list = list(of: device) else { return [] }
        var renamed: [[String]] = []
        func spelled(_ url: String, _ renamed: inout [[String]]) -> String {
            let spelling = manner.spelling(url)
            if spelling != url { renamed.append([url, spelling]) }
            return spelling
        }
        let added = Set(add.map { spelled($0, &renamed) }.filter { !$0.isEmpty })
        let removed = Set(remove.map { spelled($0, &renamed) }.filter { !$0.isEmpty }).subtracting(added)
        let moment = now
        for url in added { lists[list, default: [:]][url] = Entry(subscribed: true, changed: moment) }
        for url in removed where lists[list]?[url] != nil {
            lists[list]?[url] = Entry(subscribed: false, changed: moment)
        }
        return renamed
    }

    func delta(since: Int64, device: String) -> [String: any Sendable]? {
        guard let list = list(of: device) else { return nil }
        let changed = (lists[list] ?? [:]).filter { $0.value.changed >= since }
        return [
            "add": changed.filter(\.value.subscribed).keys.sorted(),
            "remove": changed.filter { !$0.value.subscribed }.keys.sorted(), "timestamp": now,
        ]
    }

    // MARK: Actions

    mutating func upload(_ list: [[String: any Sendable]], nextcloud: Bool) -> [String: any Sendable] {
        for var content in list {
            if !nextcloud, !manner.keepsGUID { content["guid"] = nil }
            let text = content["timestamp"] as? String
            let happened = text.flatMap(Self.seconds) ?? now
            content["timestamp"] = content["timestamp"] ?? Self.text(happened)
            let episode = content["episode"] as? String ?? ""
            let guid = content["guid"] as? String
            if let device = content["device"] as? String { addDevice(device) }
            if nextcloud {
                content["action"] = (content["action"] as? String)?.uppercased()
                content["device"] = nil
                for key in ["started", "position", "total"] where content[key] == nil { content[key] = -1 }
                // One row for each episode, identified by guid or by address.
                actions.removeAll { old in
                    guid != nil && old.content["guid"] as? String == guid
                        || old.content["episode"] as? String == episode
                }
            } else if actions.contains(where: { $0.text == Self.canonical(content) }) {
                continue
            }
            let canonical = Self.canonical(content)
            actions.append(Action(content: content, text: canonical, uploaded: now, happened: happened))
        }
        return nextcloud ? ["timestamp": now] : ["timestamp": now, "update_urls": [[String]]()]
    }

    func gpodderActions(since: Int64) -> [String: any Sendable] {
        let found = actions.filter { (manner.comparesDeviceTime ? $0.happened : $0.uploaded) >= since }
        return ["actions": found.map(\.content), "timestamp": now]
    }

    /// Returns the actions later than `since`, or all for 0. gpoddersync compares the times stated by devices.
    func nextcloudActions(since: Int64) -> [String: any Sendable] {
        let found = actions.enumerated().filter { $0.element.happened > since || since == 0 }.map { index, action in
            action.content.merging(["id": index + 1]) { old, _ in old }
        }
        return ["actions": found, "timestamp": now]
    }

    private static func seconds(_ text: String) -> Int64? {
        let plain = text.split(separator: ".").first.map(String.init) ?? text
        let date = ISO8601DateFormatter().date(from: plain.hasSuffix("Z") ? plain : plain + "Z")
        return date.map { Int64($0.timeIntervalSince1970) }
    }

    private static func canonical(_ content: [String: any Sendable]) -> String {
        let data = try? JSONSerialization.data(withJSONObject: content, options: [.sortedKeys])
        return data.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    private static func text(_ seconds: Int64) -> String {
        var text = ISO8601DateFormatter().string(from: Date(timeIntervalSince1970: TimeInterval(seconds)))
        if text.hasSuffix("Z") { text.removeLast() }
        return text
    }
}
