/// Where podfs keeps things, by the XDG Base Directory specification. Two environments are two installations.
package struct Places: Sendable, Equatable {
    /// `$XDG_DATA_HOME/podfs`: the library.
    package var data: String
    /// `$XDG_CACHE_HOME/podfs`: the media.
    package var cache: String
    /// `$XDG_CONFIG_HOME/podfs`.
    package var config: String
    /// `$XDG_STATE_HOME/podfs`: the log.
    package var state: String
    /// `$XDG_RUNTIME_DIR/podfs`, or a folder in the state folder where there is none: the socket.
    package var runtime: String

    /// - Parameter environment: the process's variables. A relative path in one of them is ignored, as the
    ///   specification demands.
    /// - Returns: `nil` when neither the variables nor HOME say where.
    package init?(environment: [String: String]) {
        /// The folder that a variable names, spelled in one way: daemon and client compare their paths as text.
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
    /// The library as it was when it was last found sound, a day ago at most.
    package var libraryBackup: String { data + "/library.backup.sqlite" }
    /// The subscriptions as they are, with what their addresses keep secret.
    package var subscriptionsCopy: String { data + "/subscriptions.opml" }
    /// The names and passwords of feeds.
    package var credentials: String { data + "/credentials.json" }
    /// The feeds' documents as last fetched.
    package var feeds: String { data + "/feeds" }
    /// Copies of what is published, until its server has it.
    package var uploads: String { data + "/uploads" }
    /// The names and passwords of servers that something is published on, until it is there.
    package var uploadCredentials: String { data + "/upload-credentials.json" }
    /// Art, transcripts and chapters.
    package var assets: String { cache + "/assets" }
    package var configFile: String { config + "/config.toml" }
    package var socket: String { runtime + "/daemon.sock" }
    package var pidFile: String { runtime + "/daemon.pid" }
    package var log: String { state + "/daemon.log" }
    /// What runs by itself in the daemon, for the next one to see what this one died under.
    package var workMarkers: String { state + "/work" }
    /// What daemons have died under.
    package var workDeaths: String { state + "/deaths.json" }
    /// Held by whoever starts a daemon, so that one is started once.
    package var startLock: String { runtime + "/start.lock" }

    /// All folders, in the order in which to make them; each 0700.
    package var folders: [String] { [data, feeds, uploads, cache, assets, config, state, runtime] }
}
