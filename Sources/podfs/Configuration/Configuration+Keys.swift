import Platform
import PodcastLibrary
import PodcastProtocol
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
            try configuration.service.autoDownloadRules.set(rule, Assignment(key: rule.rawValue, value: text))
        }
    }

    /// The shortest time that is not zero.
    private static let shortest = Duration.milliseconds(1)

    /// All keys. The upper bounds for the numbers of connections only catch typing errors.
    static let all: [Self] = [
        Self("cache.limit", \.service.storage.capacity) { try $0.size(minimum: 1) },
        Self("cache.keep_free", \.service.storage.keepFree) { try $0.size(minimum: 0) },
        Self("transfers.filling", \.service.transfers.pools.filling) { try $0.number(in: 1...64) },
        Self("transfers.filling_per_host", \.service.transfers.pools.fillingPerHost) { try $0.number(in: 1...16) },
        Self("transfers.readers_per_host", \.service.transfers.pools.readersPerHost) { try $0.number(in: 1...64) },
        Self("transfers.rate_limit", \.service.transfers.rateLimit) { try $0.rate() },
        Self("transfers.reader_deadline", \.service.transfers.limits.readerDeadline) {
            try $0.duration(minimum: shortest)
        },
        Self("transfers.stall", \.service.transfers.limits.stall) { try $0.duration(minimum: shortest) },
        Self("transfers.give_up", \.service.transfers.limits.retry.giveUp) { try $0.duration(minimum: shortest) },
        Self("transfers.allow_private", \.service.transfers.network.reach.exceptions) { try $0.reachExceptions() },
        Self("transfers.ca_file", \.authorities) { try $0.certificateFile() },
        Self("discretionary.allow_metered", \.service.allowsMetered) { try $0.flag() },
        Self("discretionary.allow_battery", \.service.allowsBattery) { try $0.flag() },
        Self("daemon.idle_exit", \.service.idleExit) { try $0.duration(minimum: .zero) },
        Self("refresh.min", \.service.schedule.minimum) { try $0.duration(minimum: .seconds(1)).seconds },
        Self("refresh.max", \.service.schedule.maximum) { try $0.duration(minimum: .seconds(1)).seconds },
        Self("refresh.connections", \.service.refreshConnections) { try $0.number(in: 1...256) },
        Self("sync.interval", \.service.sync.interval) { try $0.duration(minimum: .seconds(1)) },
        Self("sync.delay", \.service.sync.delay) { try $0.duration(minimum: .zero) },
        Self("names.template", \.service.nameTemplate) { try NameTemplate($0.text()) },
        Self("names.portable", \.isPortable) { try $0.flag() },
        Self("auto_download", \.service.autoDownload) { try $0.number(in: 0...100_000) },
        Self(rule: .autoDownloadOrder), Self(rule: .autoDownloadTitle), Self(rule: .autoDownloadMinDuration),
        Self(rule: .autoDownloadMaxDuration), Self(rule: .autoDownloadTypes),
        Self("keep", \.service.keep) { value in
            guard case .string(let text) = value, let keep = Keep(text) else { throw value.unexpected(Keep.forms) }
            return keep
        },
        Self("archive.folder", \.service.archiveFolder) { try $0.path() },
        Self("archive.shows", \.service.archivesAll) { try $0.choice(["named": false, "all": true]) },
        Self("user_agent", \.service.transfers.userAgent) { try $0.text() },
        Self("search.itunes.url", \.iTunesURL) { try $0.webAddress() },
        Self("search.podcastindex.key", \.podcastIndexKey) { try $0.text() },
        Self("search.podcastindex.secret", \.podcastIndexSecret) { try $0.text() },
        Self("search.podcastindex.url", \.podcastIndexURL) { try $0.webAddress() },
        Self("listening.mpris", \.mpris) { try $0.flag() },
        Self("listening.resume", \.resumes) { try $0.flag() },
        Self("tagged", \.hasTaggedFolder) { try $0.flag() },
        Self("share.base_url", \.shareBase) { try $0.baseAddress() },
        Self("indexers", \.indexers) { try $0.names() },
        Self("probes", \.probes) { try $0.names() },
        Self("hooks.on_download", \.service.onDownload) { try $0.command() },
        Self("hooks.on_new_episode", \.service.onNewEpisode) { try $0.command() },
        Self("hooks.on_played", \.service.onPlayed) { try $0.command() },
        Self("hooks.on_feed_trouble", \.service.onFeedTrouble) { try $0.command() },
        Self("hooks.on_idle", \.service.onIdle) { try $0.command() },
    ]
}

extension Configuration {
    /// Reads the settings of a document. Throws the first error in the order of the file. After all keys were read,
    /// checks whether the values of different keys fit together.
    init(_ document: ConfigurationDocument, _ paths: InstallationPaths) throws(ConfigurationError) {
        self.init(paths)
        for entry in document.entries {
            guard let key = ConfigurationKey.all.first(where: { $0.path == entry.path }) else {
                throw document.error(at: entry.line, Self.unknown(entry))
            }
            do {
                try key.apply(entry.value, &self)
            } catch {
                let message = "\(error)"
                let named = message.hasPrefix(entry.path) ? message : "\(entry.path): \(message)"
                throw document.error(at: entry.line, named)
            }
        }
        if service.schedule.minimum > service.schedule.maximum {
            throw document.error(
                at: document.entries.last { ["refresh.min", "refresh.max"].contains($0.path) }?.line,
                "refresh.min is longer than refresh.max")
        }
        service.nameTemplate = service.nameTemplate.portable(isPortable)
        service.catalogues = [.iTunes(at: iTunesURL)]
        if let podcastIndexKey, let podcastIndexSecret {
            service.catalogues.append(
                .podcastIndex(key: podcastIndexKey, secret: podcastIndexSecret, at: podcastIndexURL))
        } else if let given = document.entries.first(where: { $0.path.hasPrefix("search.podcastindex.") }) {
            throw document.error(
                at: given.line, "the Podcast Index needs search.podcastindex.key and search.podcastindex.secret")
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
