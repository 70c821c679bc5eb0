import GRDB
internal import PodcastProtocol

/// An index that finds the episode of a sync action, an action on one episode that a sync server exchanges between
/// devices. The episode is searched for in the action's show: by guid, otherwise by media URL, otherwise by media URL
/// without the query. The rows of a show are read once.
struct EpisodeIndex {
    /// The episodes of one show.
    private struct ShowEpisodes {
        var byGUID: [String: EpisodeID] = [:]
        var byURL: [String: EpisodeID] = [:]
        /// Episodes by media URL without the query, since the query may be a rotating token. The value is `nil` if
        /// several episodes have the same URL without the query.
        var byPath: [String: EpisodeID?] = [:]
        var withGUID: Set<EpisodeID> = []
    }

    private let only: Set<ShowID>?
    private var episodesOfShow: [ShowID: ShowEpisodes] = [:]
    /// The shows by normalized feed address; `nil` until the first lookup.
    private var showOfURL: [String: ShowID]?

    /// - Parameter only: Restricts the lookup to these shows.
    init(only: Set<ShowID>? = nil) { self.only = only }

    /// Returns the episode of an action; `nil` if it is not in the library.
    mutating func episode(of action: SyncAction, _ db: Database) throws -> EpisodeID? {
        guard let podcast = try podcast(action.podcast, db) else { return nil }
        if let only, !only.contains(podcast) { return nil }
        let show = try episodes(of: podcast, db)
        if let guid = action.guid, !guid.isEmpty, let found = show.byGUID[guid] { return found }
        let url = EpisodeMatcher.comparable(url: action.episode)
        if let found = show.byURL[url] { return found }
        guard let path = Self.mediaPath(url), let found = show.byPath[path] ?? nil else { return nil }
        // If both have a guid, the guids differ, since the lookup by guid found nothing. The episodes then differ, too.
        return action.guid != nil && show.withGUID.contains(found) ? nil : found
    }

    /// Returns the URL without its query if its extension is that of a media file; `nil` for a script, whose query
    /// identifies the file.
    private static func mediaPath(_ url: String) -> String? {
        let path = String(url.prefix { $0 != "?" })
        let major = MediaType.pathExtension(of: path).flatMap { MediaType.extensions[$0]?.major }
        return major == .audio || major == .video ? path : nil
    }

    private mutating func podcast(_ url: String, _ db: Database) throws -> ShowID? {
        if showOfURL == nil {
            var known: [String: ShowID] = [:]
            // The queries read former addresses, addresses as the sync server spells them, and current addresses. If
            // an address is found for two shows, the later query decides.
            for sql in [
                "SELECT a.url, a.podcast FROM address a JOIN podcast p ON p.id = a.podcast",
                "SELECT f.url, f.podcast FROM sync_feed f JOIN podcast p ON p.id = f.podcast",
                "SELECT url, id FROM podcast WHERE ephemeral = 0 OR id IN (SELECT podcast FROM sync_removed)",
            ] {
                let rows = try Row.fetchCursor(db, sql)
                while let row = try rows.next() { known[Self.key(row[0])] = row[1] }
            }
            showOfURL = known
        }
        return showOfURL?[Self.key(url)]
    }

    /// Returns a feed address in the form in which it is compared: without scheme, fragment and final slashes.
    private static func key(_ url: String) -> String {
        var key = Substring(EpisodeMatcher.comparable(url: url))
        while key.hasSuffix("/") { key = key.dropLast() }
        return String(key)
    }

    private mutating func episodes(of podcast: ShowID, _ db: Database) throws -> ShowEpisodes {
        if let known = episodesOfShow[podcast] { return known }
        var show = ShowEpisodes()
        let rows = try Row.fetchCursor(
            db,
            """
            SELECT id, guid, coalesce(main_url, url) FROM episode
            WHERE podcast = ? AND id NOT IN (SELECT medium FROM alternate) ORDER BY id
            """, [podcast])
        while let row = try rows.next() {
            let id: EpisodeID = row[0]
            if let guid: String = row[1] {
                show.byGUID[guid] = id
                show.withGUID.insert(id)
            }
            let url = EpisodeMatcher.comparable(url: row[2])
            show.byURL[url] = id
            if let path = Self.mediaPath(url) { show.byPath[path] = show.byPath[path] == nil ? .some(id) : .some(nil) }
        }
        episodesOfShow[podcast] = show
        return show
    }
}
