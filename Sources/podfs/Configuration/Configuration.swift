import Glibc
import Platform
import PodcastLibrary
import PodcastService
import TransferCore

/// The settings of podfs: those in `config.toml`, and defaults for the rest. See podfs.conf(5).
///
/// Sizes are bytes, rates bytes per second.
struct Configuration: Sendable, Equatable {
    struct Cache: Sendable, Equatable {
        var limit: Int64 = 10 << 30
        /// The free space to leave on the disk whatever the limit is; `nil` means 1 GiB, or 5 % of a smaller disk.
        var keepFree: Int64?
    }

    struct Transfers: Sendable, Equatable {
        /// The number of concurrent background downloads.
        var filling = 3
        var fillingPerHost = 2
        var readersPerHost = 6
        /// Bytes per second; `nil` means no limit.
        var rateLimit: Int64?
        /// The time without progress after which a read fails.
        var readerDeadline = Duration.seconds(60)
        /// The time after which a silent connection is closed.
        var stall = Duration.seconds(20)
        /// The time without progress after which a task fails.
        var giveUp = Duration.seconds(24 * 3_600)
        /// Private hosts and networks that feeds of less private networks may lead to.
        var allowPrivate: [ReachPolicy.Exception] = []
        /// A file of certificate authorities that are trusted in addition to the system's.
        var authorities: String?
    }

    /// The conditions for discretionary work: automatic downloads and synchronization without a client.
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
        /// Whether Windows, Samba, FAT and exFAT must accept the names.
        var isPortable = false
    }

    struct Search: Sendable, Equatable {
        struct PodcastIndex: Sendable, Equatable {
            var key: String
            var secret: String
        }

        /// The iTunes Search API, or a compatible server.
        var iTunesURL = "https://itunes.apple.com/search"
        /// `nil` without a configured key; the Podcast Index is then not searched.
        var podcastIndex: PodcastIndex?
        /// A server compatible with the Podcast Index.
        var podcastIndexURL: String?
    }

    /// Players and podfs.
    struct Listening: Sendable, Equatable {
        /// Whether the mount listens to players on the session bus.
        var mpris = true
        /// Whether players are moved to where the person stopped.
        var resume = true
    }

    /// Shell commands that the daemon runs.
    struct Hooks: Sendable, Equatable {
        var onDownload: String?
        var onNewEpisode: String?
        var onPlayed: String?
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
    var listening = Listening()
    var hooks = Hooks()
    /// The number of a show's newest episodes to download automatically.
    var autoDownload = 0
    var autoDownloadRules = AutoDownloadRules()
    var keep = Keep.all
    /// `nil` means podfs and its version.
    var userAgent: String?
    /// The address under which a web server shares the mount, without a slash at its end; `nil` if none does.
    var shareBase: String?
    /// Whether mounts have a folder of episodes with tags made by podfs.
    var hasTagged = false
    /// Programs that read every file and must not start downloads: names of executables.
    var indexers = Self.standardIndexers

    /// Programs that read headers and tags and must not start downloads: names of executables.
    var probes = Self.standardProbes

    /// The scanners of media servers and players, readers of tags, and programs that search files.
    static let standardProbes = [
        "ffprobe", "mediainfo", "mediainfo-gui", "exiftool", "jellyfin", "Plex Media Scanner", "EmbyServer",
        "ffdetect", "minidlnad", "gerbera", "rygel", "lightmediascannerd", "mpd", "navidrome", "gonic",
        "audiobookshelf", "ganesha.nfsd", "scanner.pl", "slimserver.pl", "kodi.bin", "kodi-x11", "kodi-gbm",
        "kodi-wayland",
        "clementine-tagreader", "strawberry-tagreader", "beet", "kid3", "kid3-qt", "kid3-cli", "picard", "puddletag",
        "easytag", "exfalso", "operon", "eyeD3", "mid3v2", "id3v2", "mp3info", "vorbiscomment", "opusinfo", "ogginfo",
        "metaflac", "AtomicParsley", "file", "grep", "rg", "ugrep", "ag",
    ]

    /// The indexers of locate, GNOME, KDE and Recoll, and the desktops' thumbnailers.
    static let standardIndexers = [
        "updatedb", "updatedb.mlocate", "updatedb.plocate",
        "tracker-extract", "tracker-extract-3", "tracker-miner-fs", "tracker-miner-fs-3",
        "localsearch-3", "localsearch-extractor-3",
        "baloo_file", "baloo_file_extractor", "baloofilemetadata_extractor",
        "recollindex", "tumblerd", "ffmpegthumbnailer", "totem-video-thumbnailer", "totem-audio-preview",
        "gst-thumbnailer", "gst-video-thumbnailer",
    ]

    /// Reads the file at `path`. If it does not exist, all settings have their defaults.
    static func load(from path: String) throws(ConfigurationError) -> Configuration {
        guard let bytes = try contents(of: path) else { return Configuration() }
        return try Configuration(ConfigurationDocument(bytes: bytes, path: path))
    }

    /// The maximum size in bytes; a larger file is not a configuration.
    private static let maximumSize = 1 << 20

    /// Returns the bytes of a file, or `nil` if it does not exist. The corresponding C functions are `open` and `read`.
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
