import Glibc
import Platform
import PodcastLibrary
import PodcastService
import TransferCore

/// The settings of podfs: what `config.toml` says, and the defaults for what it does not say. See podfs.conf(5).
///
/// Sizes are bytes, rates bytes per second.
struct Configuration: Sendable, Equatable {
    struct Cache: Sendable, Equatable {
        var limit: Int64 = 10 << 30
        /// What is left free on the disk whatever the limit says; `nil` stands for 1 GiB or 5 % of it.
        var keepFree: Int64?
    }

    struct Transfers: Sendable, Equatable {
        /// Downloads at once that nobody waits for.
        var filling = 3
        var fillingPerHost = 2
        var readersPerHost = 6
        /// `nil` does not limit.
        var rateLimit: Int64?
        /// How long a blocked reader waits without progress.
        var readerDeadline = Duration.seconds(60)
        /// How long a connection may be silent.
        var stall = Duration.seconds(20)
        /// How long a task keeps trying.
        var giveUp = Duration.seconds(24 * 3_600)
        /// What feeds of the internet may lead to although it is private.
        var allowPrivate: [ReachPolicy.Exception] = []
    }

    /// When to do what nobody waits for.
    struct Discretionary: Sendable, Equatable {
        var allowMetered = false
        var allowBattery = false
    }

    struct Daemon: Sendable, Equatable {
        var idleExit = Duration.seconds(5 * 60)
    }

    struct Refresh: Sendable, Equatable {
        var min = Duration.seconds(15 * 60)
        var max = Duration.seconds(24 * 3_600)
        var connections = 8
    }

    struct Sync: Sendable, Equatable {
        var interval = Duration.seconds(3_600)
        var delay = Duration.seconds(30)
    }

    struct Names: Sendable, Equatable {
        var template = NameTemplate.standard
    }

    struct Search: Sendable, Equatable {
        struct PodcastIndex: Sendable, Equatable {
            var key: String
            var secret: String
        }

        /// The iTunes Search API, or something that answers as it does.
        var iTunesURL = "https://itunes.apple.com/search"
        /// `nil` when no key is configured: then it is not asked.
        var podcastIndex: PodcastIndex?
        /// The Podcast Index, or something that answers as it does.
        var podcastIndexURL: String?
    }

    /// Commands that the daemon runs with a shell.
    struct Hooks: Sendable, Equatable {
        var onDownload: String?
        var onNewEpisode: String?
        var onIdle: String?
    }

    var cache = Cache()
    var transfers = Transfers()
    var discretionary = Discretionary()
    var daemon = Daemon()
    var refresh = Refresh()
    var sync = Sync()
    var names = Names()
    var search = Search()
    var hooks = Hooks()
    /// How many of a show's newest episodes are downloaded without being asked for.
    var autoDownload = 0
    var keep = Keep.all
    /// `nil` stands for podfs and its version.
    var userAgent: String?
    /// Programs that look into every file and are to start no download: names of executables.
    var indexers = Self.standardIndexers

    /// locate, GNOME's and KDE's search, Recoll, and the thumbnailers of the desktops.
    static let standardIndexers = [
        "updatedb", "updatedb.mlocate", "updatedb.plocate",
        "tracker-extract", "tracker-extract-3", "tracker-miner-fs", "tracker-miner-fs-3",
        "localsearch-3", "localsearch-extractor-3",
        "baloo_file", "baloo_file_extractor", "baloofilemetadata_extractor",
        "recollindex", "tumblerd", "ffmpegthumbnailer", "totem-video-thumbnailer", "totem-audio-preview",
        "gst-thumbnailer", "gst-video-thumbnailer",
    ]

    /// Reads the file at `path`. When there is none, everything has its default.
    static func load(from path: String) throws(ConfigurationError) -> Configuration {
        guard let bytes = try contents(of: path) else { return Configuration() }
        return try Configuration(ConfigurationDocument(bytes: bytes, path: path))
    }

    /// No settings fill this: what is larger is another file.
    private static let maximumSize = 1 << 20

    /// The bytes of a file, or `nil` when there is none. The corresponding C functions are `open` and `read`.
    private static func contents(of path: String) throws(ConfigurationError) -> [UInt8]? {
        func failure(_ reason: String) -> ConfigurationError {
            ConfigurationError(path: path, line: nil, message: "cannot be read: \(reason)")
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw failure(String(cString: strerror(errno)))
        }
        defer { close(descriptor) }
        guard let bytes = readAll(descriptor, limit: maximumSize) else {
            throw failure(String(cString: strerror(errno)))
        }
        guard bytes.count <= maximumSize else { throw failure("it is larger than 1 MiB") }
        return bytes
    }
}
