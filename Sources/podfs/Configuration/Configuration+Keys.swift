import PodcastLibrary
import PodcastService
import Transfers

/// A key of the configuration file, and the setter of its value in a `Configuration`.
struct ConfigurationKey: Sendable {
    /// The names of the tables that contain the key, then the key's own name, separated by dots: `cache.limit`.
    let path: String
    let apply: @Sendable (ConfigurationValue, inout Configuration) throws -> Void

    /// Creates the key of a property. `convert` throws an error whose description states the expected form.
    private init<Value>(
        _ path: String, _ property: any WritableKeyPath<Configuration, Value> & Sendable,
        _ convert: @escaping @Sendable (ConfigurationValue) throws -> Value
    ) {
        self.path = path
        apply = { $1[keyPath: property] = try convert($0) }
    }

    /// Creates the key of a rule of automatic downloads. It accepts the same values as `podfs set`.
    private init(rule: ShowSettingKey) {
        path = rule.rawValue
        apply = { value, configuration in
            let text = try value.text()
            try configuration.autoDownloadRules.set(rule, Assignment(key: rule.rawValue, value: text))
        }
    }

    /// The shortest time that is not zero.
    private static let shortest = Duration.milliseconds(1)

    /// All keys. The upper bounds for the numbers of connections only catch typing errors.
    static let all: [Self] = [
        Self("cache.limit", \.cache.capacity) { try $0.size(minimum: 1) },
        Self("cache.keep_free", \.cache.keepFree) { try $0.size(minimum: 0) },
        Self("transfers.filling", \.transfers.pools.filling) { try $0.number(in: 1...64) },
        Self("transfers.filling_per_host", \.transfers.pools.fillingPerHost) { try $0.number(in: 1...16) },
        Self("transfers.readers_per_host", \.transfers.pools.readersPerHost) { try $0.number(in: 1...64) },
        Self("transfers.rate_limit", \.transfers.rateLimit) { try $0.rate() },
        Self("transfers.reader_deadline", \.transfers.limits.readerDeadline) { try $0.duration(minimum: shortest) },
        Self("transfers.stall", \.transfers.limits.stall) { try $0.duration(minimum: shortest) },
        Self("transfers.give_up", \.transfers.limits.retry.giveUp) { try $0.duration(minimum: shortest) },
        Self("transfers.allow_private", \.transfers.allowPrivate) { try $0.reachExceptions() },
        Self("transfers.ca_file", \.transfers.authorities) { try $0.certificateFile() },
        Self("discretionary.allow_metered", \.discretionary.allowMetered) { try $0.flag() },
        Self("discretionary.allow_battery", \.discretionary.allowBattery) { try $0.flag() },
        Self("daemon.idle_exit", \.daemon.idleExit) { try $0.duration(minimum: .zero) },
        Self("refresh.min", \.refresh.min) { try $0.duration(minimum: shortest) },
        Self("refresh.max", \.refresh.max) { try $0.duration(minimum: shortest) },
        Self("refresh.connections", \.refresh.connections) { try $0.number(in: 1...256) },
        Self("sync.interval", \.sync.interval) { try $0.duration(minimum: .seconds(1)) },
        Self("sync.delay", \.sync.delay) { try $0.duration(minimum: .zero) },
        Self("names.template", \.names.template) { try NameTemplate($0.text()) },
        Self("names.portable", \.names.isPortable) { try $0.flag() },
        Self("auto_download", \.autoDownload) { try $0.number(in: 0...100_000) },
        Self(rule: .autoDownloadOrder), Self(rule: .autoDownloadTitle), Self(rule: .autoDownloadMinDuration),
        Self(rule: .autoDownloadMaxDuration), Self(rule: .autoDownloadTypes),
        Self("keep", \.keep) { value in
            guard case .string(let text) = value, let keep = Keep(text) else { throw value.unexpected(Keep.forms) }
            return keep
        },
        Self("archive.folder", \.archive.folder) { try $0.path() },
        Self("archive.shows", \.archive.archivesAll) { try $0.choice(["named": false, "all": true]) },
        Self("user_agent", \.userAgent) { try $0.text() },
        Self("search.itunes.url", \.search.iTunesURL) { try $0.webAddress() },
        Self("search.podcastindex.key", \.search.podcastIndexKey) { try $0.text() },
        Self("search.podcastindex.secret", \.search.podcastIndexSecret) { try $0.text() },
        Self("search.podcastindex.url", \.search.podcastIndexURL) { try $0.webAddress() },
        Self("listening.mpris", \.listening.mpris) { try $0.flag() },
        Self("listening.resume", \.listening.resume) { try $0.flag() },
        Self("tagged", \.hasTaggedFolder) { try $0.flag() },
        Self("share.base_url", \.shareBase) { try $0.baseAddress() },
        Self("indexers", \.indexers) { try $0.names() },
        Self("probes", \.probes) { try $0.names() },
        Self("hooks.on_download", \.hooks.onDownload) { try $0.command() },
        Self("hooks.on_new_episode", \.hooks.onNewEpisode) { try $0.command() },
        Self("hooks.on_played", \.hooks.onPlayed) { try $0.command() },
        Self("hooks.on_feed_trouble", \.hooks.onFeedTrouble) { try $0.command() },
        Self("hooks.on_idle", \.hooks.onIdle) { try $0.command() },
    ]
}

extension Configuration {
    /// Reads the settings of a document. Throws the first error in the order of the file. After all keys were read,
    /// checks whether the values of different keys fit together.
    init(_ document: ConfigurationDocument) throws(ConfigurationError) {
        self.init()
        for entry in document.entries {
            guard let key = ConfigurationKey.all.first(where: { $0.path == entry.path }) else {
                throw document.error(at: entry.line, Self.unknown(entry))
            }
            do {
                try key.apply(entry.value, &self)
            } catch let error as SettingError {
                throw document.error(at: entry.line, error.message)
            } catch {
                throw document.error(at: entry.line, "\(entry.path): \(error)")
            }
        }
        if refresh.min > refresh.max {
            throw document.error(
                at: document.line(of: "refresh.min") ?? document.line(of: "refresh.max"),
                "refresh.min is longer than refresh.max")
        }
        // The Podcast Index needs key and secret, and its URL needs both.
        let missing = ["key", "secret"].filter { document.line(of: "search.podcastindex.\($0)") == nil }
        if let given = ["key", "secret", "url"].first(where: { document.line(of: "search.podcastindex.\($0)") != nil }),
            !missing.isEmpty
        {
            let needed = missing.map { "search.podcastindex.\($0)" }.joined(separator: " and ")
            throw document.error(
                at: document.line(of: "search.podcastindex.\(given)"),
                "search.podcastindex.\(given) needs \(needed) beside it")
        }
    }

    /// Returns the error message for an unknown key, with the nearest known key.
    private static func unknown(_ entry: ConfigurationDocument.Entry) -> String {
        let keys = ConfigurationKey.all.map(\.path)
        let nested = keys.filter { $0.hasPrefix(entry.path + ".") }
        if let example = nested.first {
            return "\"\(entry.path)\" is a table, not a value; its keys include \"\(example)\""
        }
        var candidates = keys
        if entry.value == .other("table") {
            candidates = keys.compactMap { key in key.lastIndex(of: ".").map { String(key[..<$0]) } }
        }
        let guess =
            LikelyName.nearest(to: entry.path, in: candidates).map { "; did you mean \"\($0)\"?" }
            ?? "; see podfs.conf(5)"
        return "unknown key \"\(entry.path)\"\(guess)"
    }
}
