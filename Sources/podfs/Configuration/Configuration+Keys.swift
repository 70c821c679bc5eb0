import PodcastLibrary
import PodcastService

/// An error thrown for an invalid value. The message states the expected form.
struct ConfigurationValueError: Error {
    let message: String
}

/// A key of the configuration file, and the setter of its value in a `Configuration`.
struct ConfigurationKey: Sendable {
    /// The names of the tables that contain the key, then the key's own name, separated by dots: `cache.limit`.
    let path: String
    let apply: @Sendable (ConfigurationValue, inout Configuration) throws(ConfigurationValueError) -> Void

    private typealias Property<Value> = any WritableKeyPath<Configuration, Value> & Sendable

    private static func size(
        _ path: String, _ property: Property<Int64>, minimum: Int64
    ) -> Self {
        Self(path: path) { (value, configuration) throws(ConfigurationValueError) in
            configuration[keyPath: property] = try value.size(minimum: minimum)
        }
    }

    private static func number(
        _ path: String, _ property: Property<Int>, in range: ClosedRange<Int>
    ) -> Self {
        Self(path: path) { (value, configuration) throws(ConfigurationValueError) in
            configuration[keyPath: property] = try value.number(in: range)
        }
    }

    private static func duration(
        _ path: String, _ property: Property<Duration>,
        minimum: Duration = .milliseconds(1)
    ) -> Self {
        Self(path: path) { (value, configuration) throws(ConfigurationValueError) in
            configuration[keyPath: property] = try value.duration(minimum: minimum)
        }
    }

    private static func flag(
        _ path: String, _ property: Property<Bool>
    ) -> Self {
        Self(path: path) { (value, configuration) throws(ConfigurationValueError) in
            configuration[keyPath: property] = try value.flag()
        }
    }

    /// Returns the key of a rule of automatic downloads. It accepts the same values as `podfs set`.
    private static func rule(_ key: ShowSettingKey) -> Self {
        Self(path: key.rawValue) { (value, configuration) throws(ConfigurationValueError) in
            let text = try value.text()
            do throws(AutoDownloadRules.Rejection) {
                try configuration.autoDownloadRules.set(key, text)
            } catch {
                throw value.unexpected(error.message)
            }
        }
    }

    /// Returns the key of a shell command, which may have several lines.
    private static func command(
        _ path: String, _ property: Property<String?>
    ) -> Self {
        Self(path: path) { (value, configuration) throws(ConfigurationValueError) in
            configuration[keyPath: property] = try value.command()
        }
    }

    /// All keys. The upper bounds for the numbers of connections only catch typing errors.
    static let all: [Self] = [
        .size("cache.limit", \.cache.limit, minimum: 1),
        Self(path: "cache.keep_free") { (value, configuration) throws(ConfigurationValueError) in
            configuration.cache.keepFree = try value.size(minimum: 0)
        },
        .number("transfers.filling", \.transfers.filling, in: 1...64),
        .number("transfers.filling_per_host", \.transfers.fillingPerHost, in: 1...16),
        .number("transfers.readers_per_host", \.transfers.readersPerHost, in: 1...64),
        Self(path: "transfers.rate_limit") { (value, configuration) throws(ConfigurationValueError) in
            configuration.transfers.rateLimit = try value.rate()
        },
        .duration("transfers.reader_deadline", \.transfers.readerDeadline),
        .duration("transfers.stall", \.transfers.stall),
        .duration("transfers.give_up", \.transfers.giveUp),
        Self(path: "transfers.allow_private") { (value, configuration) throws(ConfigurationValueError) in
            configuration.transfers.allowPrivate = try value.reachExceptions()
        },
        Self(path: "transfers.ca_file") { (value, configuration) throws(ConfigurationValueError) in
            configuration.transfers.authorities = try value.certificateFile()
        },
        .flag("discretionary.allow_metered", \.discretionary.allowMetered),
        .flag("discretionary.allow_battery", \.discretionary.allowBattery),
        .duration("daemon.idle_exit", \.daemon.idleExit, minimum: .zero),
        .duration("refresh.min", \.refresh.min),
        .duration("refresh.max", \.refresh.max),
        .number("refresh.connections", \.refresh.connections, in: 1...256),
        .duration("sync.interval", \.sync.interval, minimum: .seconds(1)),
        .duration("sync.delay", \.sync.delay, minimum: .zero),
        Self(path: "names.template") { (value, configuration) throws(ConfigurationValueError) in
            let text = try value.text()
            do {
                configuration.names.template = try NameTemplate(text)
            } catch {
                throw ConfigurationValueError(message: "\(error)")
            }
        },
        .flag("names.portable", \.names.isPortable),
        .number("auto_download", \.autoDownload, in: 0...100_000),
        .rule(.autoDownloadOrder), .rule(.autoDownloadTitle), .rule(.autoDownloadMinDuration),
        .rule(.autoDownloadMaxDuration), .rule(.autoDownloadTypes),
        Self(path: "keep") { (value, configuration) throws(ConfigurationValueError) in
            guard case .string(let text) = value, let keep = Keep(text) else {
                throw value.unexpected(Keep.forms)
            }
            configuration.keep = keep
        },
        Self(path: "user_agent") { (value, configuration) throws(ConfigurationValueError) in
            configuration.userAgent = try value.text()
        },
        Self(path: "search.itunes.url") { (value, configuration) throws(ConfigurationValueError) in
            configuration.search.iTunesURL = try value.webAddress()
        },
        Self(path: "search.podcastindex.key") { (value, configuration) throws(ConfigurationValueError) in
            let secret = configuration.search.podcastIndex?.secret ?? ""
            configuration.search.podcastIndex = .init(key: try value.text(), secret: secret)
        },
        Self(path: "search.podcastindex.secret") { (value, configuration) throws(ConfigurationValueError) in
            let key = configuration.search.podcastIndex?.key ?? ""
            configuration.search.podcastIndex = .init(key: key, secret: try value.text())
        },
        Self(path: "search.podcastindex.url") { (value, configuration) throws(ConfigurationValueError) in
            configuration.search.podcastIndexURL = try value.webAddress()
        },
        .flag("listening.mpris", \.listening.mpris),
        .flag("listening.resume", \.listening.resume),
        .flag("tagged", \.hasTaggedFolder),
        Self(path: "share.base_url") { (value, configuration) throws(ConfigurationValueError) in
            configuration.shareBase = try value.baseAddress()
        },
        Self(path: "indexers") { (value, configuration) throws(ConfigurationValueError) in
            configuration.indexers = try value.names()
        },
        Self(path: "probes") { (value, configuration) throws(ConfigurationValueError) in
            configuration.probes = try value.names()
        },
        .command("hooks.on_download", \.hooks.onDownload),
        .command("hooks.on_new_episode", \.hooks.onNewEpisode),
        .command("hooks.on_played", \.hooks.onPlayed),
        .command("hooks.on_idle", \.hooks.onIdle),
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
            } catch {
                throw document.error(at: entry.line, "\(entry.path): \(error.message)")
            }
        }
        if refresh.min > refresh.max {
            throw document.error(
                at: document.line(of: "refresh.min") ?? document.line(of: "refresh.max"),
                "refresh.min is longer than refresh.max")
        }
        if let index = search.podcastIndex, index.key.isEmpty || index.secret.isEmpty {
            let missing = index.key.isEmpty ? "key" : "secret"
            let given = index.key.isEmpty ? "secret" : "key"
            throw document.error(
                at: document.line(of: "search.podcastindex.\(given)"),
                "search.podcastindex.\(given) needs search.podcastindex.\(missing) beside it")
        }
        if search.podcastIndexURL != nil, search.podcastIndex == nil {
            throw document.error(
                at: document.line(of: "search.podcastindex.url"),
                "search.podcastindex.url needs search.podcastindex.key and search.podcastindex.secret")
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
            SettingText.nearest(to: entry.path, in: candidates).map { "; did you mean \"\($0)\"?" }
            ?? "; see podfs.conf(5)"
        return "unknown key \"\(entry.path)\"\(guess)"
    }
}
