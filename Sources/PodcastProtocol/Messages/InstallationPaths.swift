/// The paths of an installation, according to the XDG Base Directory specification. Processes with
/// other values of HOME or of the XDG variables use another installation, with a library and a daemon of its own.
package struct InstallationPaths: Sendable, Equatable {
    /// `$XDG_DATA_HOME/podfs`: the library.
    package var data: String
    /// `$XDG_CACHE_HOME/podfs`: the media and the assets.
    package var cache: String
    /// `$XDG_CONFIG_HOME/podfs`.
    package var config: String
    /// `$XDG_STATE_HOME/podfs`: the log, and the daemon's markers.
    package var state: String
    /// `$XDG_RUNTIME_DIR/podfs`, or the folder `run` in `state` if that variable is not set: the socket.
    package var runtime: String

    /// - Parameter environment: The process's variables. Relative paths are ignored, as the specification requires.
    /// - Returns: `nil` if HOME is missing, unless the variables of `data`, `cache`, `config` and `state` are all set.
    package init?(environment: [String: String]) {
        /// Returns the folder of a variable. Slashes at its end are removed, because daemon and client compare paths as
        /// text.
        func base(_ variable: String) -> String? {
            guard var value = environment[variable], value.hasPrefix("/") else { return nil }
            while value.hasSuffix("/") { value.removeLast() }
            return value
        }
        func folder(_ variable: String, _ fallback: String) -> String? {
            if let base = base(variable) { return base + "/podfs" }
            return base("HOME").map { $0 + "/" + fallback + "/podfs" }
        }
        guard let data = folder("XDG_DATA_HOME", ".local/share"), let cache = folder("XDG_CACHE_HOME", ".cache"),
            let config = folder("XDG_CONFIG_HOME", ".config"), let state = folder("XDG_STATE_HOME", ".local/state")
        else { return nil }
        self.data = data
        self.cache = cache
        self.config = config
        self.state = state
        runtime = base("XDG_RUNTIME_DIR").map { $0 + "/podfs" } ?? state + "/run"
    }

    package var library: String { data + "/library.sqlite" }
    /// The last good copy of the library. The daemon replaces the copy when it is a day old, and a minute after a
    /// change of the subscriptions.
    package var libraryBackup: String { data + "/library.backup.sqlite" }
    /// The current subscriptions, including the secrets in their addresses.
    package var subscriptionsCopy: String { data + "/subscriptions.opml" }
    /// The user names and passwords of feeds and of the sync server.
    package var credentials: String { data + "/credentials.json" }
    /// The feed documents as last fetched.
    package var feeds: String { data + "/feeds" }
    /// Copies of the files to publish. Each is stored until its upload has finished.
    package var uploads: String { data + "/uploads" }
    /// The user names and passwords of upload servers. Each is stored until its uploads have finished.
    package var uploadCredentials: String { data + "/upload-credentials.json" }
    /// The files of assets: artwork, transcripts and chapters.
    package var assets: String { cache + "/assets" }
    /// The search index of titles, notes and cached transcripts. If it is removed, the daemon creates it again.
    package var findIndex: String { cache + "/find.sqlite" }
    package var configFile: String { config + "/config.toml" }
    package var socket: String { runtime + "/daemon.sock" }
    package var pidFile: String { runtime + "/daemon.pid" }
    /// The system's certificate authorities and those of `transfers.ca_file`, as one file for libcurl.
    package var authorities: String { state + "/authorities.pem" }
    package var log: String { state + "/daemon.log" }
    /// The markers of the work that the daemon is running unattended, such as a refresh. If the daemon crashes, the
    /// next daemon reads from them what was running.
    package var workMarkers: String { state + "/work" }
    /// The record of the unattended work during which earlier daemons crashed; the daemon skips work that crashed it
    /// twice.
    package var workCrashes: String { state + "/deaths.json" }
    /// The file whose size is the number of consecutive failed starts of the daemon.
    package var startMarker: String { state + "/starting" }
    /// The lock that a process holds while it starts a daemon, so that only one process does.
    package var startLock: String { runtime + "/start.lock" }

    /// All folders, in the order of their creation, each with mode 0700.
    package var folders: [String] { [data, feeds, uploads, cache, assets, config, state, runtime] }
}
