import Foundation
import Glibc
import Synchronization

/// A sync server for tests. It follows the documentation of the gPodder API, version 2, and of Nextcloud's gpoddersync,
/// and behaves like their servers where the documentation is silent. Its only account is in memory, and survives stop
/// and start. Faults are scripted.
package final class SyncServer: Sendable {
    /// Behavior that differs between servers.
    package struct Manner: Sendable {
        /// Whether each device has its own list until devices are linked, as on gpodder.net; otherwise the account has
        /// one, as with oPodSync.
        package var keepsDevicesApart = false
        /// Whether the server compares `since` with the time of an action that the device states, as oPodSync does;
        /// otherwise it compares it with the time of the upload.
        package var comparesDeviceTime = false
        /// Whether the guid of an action is returned, as by newer servers; gpodder.net drops unknown members.
        package var keepsGUID = true
        /// The maximum size of a body; longer ones get 413.
        package var largestBody = 1 << 20
        /// The offset of the server's clock in seconds.
        package var clockSkew: Int64 = 0
        /// The server's normal form of an address; empty for one that it rejects.
        package var spelling: @Sendable (String) -> String = { url in
            let text = url.trimmingCharacters(in: .whitespaces)
            return text.hasPrefix("http://") || text.hasPrefix("https://") ? text : ""
        }

        package init() {}
    }

    /// A fault in the handling of one request.
    package enum Fault: Sendable {
        /// The request is ignored, and this is the response.
        case instead(Behaviour)
        /// The request is processed, and the connection ends before the response's body.
        case answerLost
    }

    package let web = HTTPTestServer()
    let user: String
    let password: String
    private let state: Mutex<SyncServerState>
    private let fault = Mutex<@Sendable (RequestInfo) -> Fault?>({ _ in nil })

    package init(user: String = "anna", password: String = "s3cret pass", manner: Manner = Manner()) {
        self.user = user
        self.password = password
        state = Mutex(SyncServerState(manner: manner))
        web.serveElsewhere { [weak self] request in self?.answer(request) ?? .status(503) }
    }

    package func start() throws { try web.start() }
    package func stop() { web.stop() }

    package var url: String { web.url("").trimmingCharacters(in: CharacterSet(charactersIn: "/")) }

    /// Sets the function that returns the fault of a request; `nil` for none. It is called for each request.
    package func setFault(_ fault: @escaping @Sendable (RequestInfo) -> Fault?) {
        self.fault.withLock { $0 = fault }
    }

    package func change(_ body: @Sendable (inout Manner) -> Void) { state.withLock { body(&$0.manner) } }

    // MARK: Contents

    /// Returns the subscriptions of the account, or of one device if devices have lists of their own.
    package func subscriptions(of device: String = "") -> Set<String> {
        state.withLock { $0.subscriptions(of: device) }
    }

    /// Changes the account's list on behalf of another device.
    package func change(add: [String] = [], remove: [String] = [], device: String = "elsewhere") {
        state.withLock { _ = $0.change(add: add, remove: remove, device: device) }
    }

    /// Uploads an action on behalf of another device, with the keys of the API.
    package func upload(_ action: [String: any Sendable]) {
        state.withLock { _ = $0.upload([action], nextcloud: false) }
    }

    /// All actions, oldest first.
    package var actions: [[String: any Sendable]] { state.withLock { $0.actions.map(\.content) } }

    package var devices: Set<String> { state.withLock { Set($0.devices.keys) } }

    // MARK: Answers

    private func answer(_ request: RequestInfo) -> Behaviour {
        switch fault.withLock({ $0 })(request) {
        case .instead(let behaviour): return behaviour
        case .answerLost: return carryOut(request).close(after: 0)
        case nil: return carryOut(request)
        }
    }

    private func carryOut(_ request: RequestInfo) -> Behaviour {
        guard isAllowed(request) else {
            return .status(
                401, headers: [("WWW-Authenticate", "Basic realm=\"sync\"")], body: "{\"message\":\"log in\"}")
        }
        let path = request.path.split(separator: "/").map { $0.removingPercentEncoding ?? String($0) }
        if request.body.count > state.withLock({ $0.manner.largestBody }) { return .status(413, body: "too large") }
        if path.starts(with: ["index.php", "apps", "gpoddersync"]) {
            return nextcloud(request, Array(path.dropFirst(3)))
        }
        guard path.count >= 4, path[0] == "api", path[1] == "2", Self.name(path[3]) == user || path[3] == user else {
            return .status(404, body: "no such service")
        }
        return gpodder(request, path[2], path.count > 4 ? Self.name(path[4]) : nil)
    }

    private func isAllowed(_ request: RequestInfo) -> Bool {
        guard let field = request.headers["Authorization"], field.hasPrefix("Basic "),
            let data = Data(base64Encoded: String(field.dropFirst(6)))
        else { return false }
        return String(decoding: data, as: UTF8.self) == "\(user):\(password)"
    }

    private static func name(_ component: String) -> String {
        component.hasSuffix(".json") ? String(component.dropLast(5)) : component
    }

    private func gpodder(_ request: RequestInfo, _ section: String, _ device: String?) -> Behaviour {
        let isPost = request.method == "POST" || request.method == "PUT"
        switch (section, device) {
        case ("auth", "login"?): return isPost ? .status(200) : .status(405)
        case ("devices", nil):
            return Self.json(state.withLock { state in state.devices.keys.sorted().map { ["id": $0] } })
        case ("devices", let device?):
            guard isPost, let content = Self.object(request.body) as? [String: Any] else { return .status(400) }
            let type = content["type"] as? String
            let caption = content["caption"] as? String
            guard type.map({ ["desktop", "laptop", "mobile", "server", "other"].contains($0) }) ?? true,
                caption != "", Self.isDevice(device)
            else { return .status(400) }
            state.withLock { $0.addDevice(device) }
            return .status(200)
        case ("sync-devices", nil):
            if isPost {
                guard let content = Self.object(request.body) as? [String: Any] else { return .status(400) }
                let groups = content["synchronize"] as? [[String]] ?? []
                guard state.withLock({ state in groups.allSatisfy { state.link($0) } }) else { return .status(400) }
            }
            return Self.json(state.withLock { $0.linkStatus })
        case ("subscriptions", let device?):
            guard Self.isDevice(device) else { return .status(400) }
            if isPost { return change(request, device: device, nextcloud: false) }
            guard let since = Self.since(request) else { return .status(400, body: "parameter since missing") }
            guard let delta = state.withLock({ $0.delta(since: since, device: device) }) else { return .status(404) }
            return Self.json(delta)
        case ("episodes", nil):
            if isPost { return upload(request, nextcloud: false) }
            return Self.json(state.withLock { $0.gpodderActions(since: Self.since(request) ?? 0) })
        default: return .status(404, body: "no such service")
        }
    }

    private func nextcloud(_ request: RequestInfo, _ path: [String]) -> Behaviour {
        switch (request.method, path) {
        case ("GET", ["subscriptions"]):
            // Without `since` the app returns the changes of the last week.
            let since = Self.since(request) ?? state.withLock { $0.now } - 7 * 86_400
            return Self.json(state.withLock { $0.delta(since: since, device: "") } ?? [:])
        case ("POST", ["subscription_change", "create"]): return change(request, device: "", nextcloud: true)
        case ("GET", ["episode_action"]):
            return Self.json(state.withLock { $0.nextcloudActions(since: Self.since(request) ?? 0) })
        case ("POST", ["episode_action", "create"]): return upload(request, nextcloud: true)
        default: return .status(405)
        }
    }

    private func change(_ request: RequestInfo, device: String, nextcloud: Bool) -> Behaviour {
        guard let content = Self.object(request.body) as? [String: Any] else { return .status(400) }
        let add = content["add"] as? [String] ?? []
        let remove = content["remove"] as? [String] ?? []
        if !nextcloud, !Set(add).isDisjoint(with: remove) {
            return .status(400, body: "can not add and remove one address at the same time")
        }
        let renamed = state.withLock { $0.change(add: add, remove: remove, device: device) }
        var answer: [String: any Sendable] = ["timestamp": state.withLock { $0.now }]
        if !nextcloud { answer["update_urls"] = renamed }
        return Self.json(answer)
    }

    private func upload(_ request: RequestInfo, nextcloud: Bool) -> Behaviour {
        guard let list = Self.object(request.body) as? [[String: Any]] else { return .status(400) }
        var actions: [[String: any Sendable]] = []
        for action in list {
            var content: [String: any Sendable] = [:]
            for (key, value) in action {
                // Only strings and integers are stored.
                if let text = value as? String { content[key] = text }
                if let number = value as? Int { content[key] = number }
            }
            guard content["podcast"] is String, content["episode"] is String, let kind = content["action"] as? String,
                ["play", "download", "delete", "new", "flattr"].contains(kind.lowercased())
            else { return .status(400, body: "an action lacks what it must have") }
            actions.append(content)
        }
        return Self.json(state.withLock { $0.upload(actions, nextcloud: nextcloud) })
    }

    // MARK: Words

    private static func isDevice(_ name: String) -> Bool {
        !name.isEmpty && name.allSatisfy { $0.isLetter || $0.isNumber || "_.-".contains($0) }
    }

    private static func object(_ body: [UInt8]) -> Any? { try? JSONSerialization.jsonObject(with: Data(body)) }

    private static func json(_ object: Any) -> Behaviour {
        let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys])
        return .status(
            200, headers: [("Content-Type", "application/json")],
            body: data.map { String(decoding: $0, as: UTF8.self) } ?? "null")
    }

    private static func since(_ request: RequestInfo) -> Int64? {
        let items = URLComponents(string: "?" + (request.query ?? ""))?.queryItems ?? []
        return items.last { $0.name == "since" }.flatMap { Int64($0.value ?? "") }
    }
}
