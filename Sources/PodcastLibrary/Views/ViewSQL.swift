import GRDB
internal import PodcastProtocol
import Transfers

/// The id of a view.
package struct ViewID: Identifier {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }
}

extension ViewID: DatabaseValueConvertible {}

/// The facts about an episode that decide which views contain it.
struct ViewCandidate {
    var id: EpisodeID
    var podcast: ShowID
    var title: String
    /// When the episode was published, or first seen if it is undated, in seconds since 1970.
    var moment: Int64
    var duration: Double?
    var isVideo: Bool
    var isBuried: Bool
    var flags: Set<ViewDefinition.Flag>
    /// When the episode was last played, in seconds since 1970; `nil` for never.
    var played: Int64?

    /// The columns of `episode e` that `init(_:)` reads.
    static let columns = """
        e.id, e.podcast, e.title, e.moment, e.duration, e.type, e.name, e.buried, e.played, e.position, e.pinned, \
        \(ViewSQL.playedAt), EXISTS (SELECT 1 FROM rendition r WHERE r.episode = e.id AND r.complete = 1)
        """

    init(_ row: Row) {
        id = row[0]
        podcast = row[1]
        title = row[2]
        moment = row[3]
        duration = row[4]
        isVideo = MediaType.isVideo(type: row[5], fileExtension: FileName.fileExtension(of: row[6]))
        isBuried = row[7]
        played = row[11]
        flags = []
        let isPlayed: Bool = row[8]
        if !isPlayed {
            flags.insert(.unplayed)
            if ListeningRules.isInProgress(played: isPlayed, position: row[9]) { flags.insert(.inProgress) }
        }
        if row[10] { flags.insert(.pinned) }
        if row[12] { flags.insert(.downloaded) }
    }
}

/// The facts about a show that decide which views contain its episodes.
struct ViewShow {
    var isSubscribed: Bool
    /// The folded names by which a view may select the show: the folder's name and the title.
    var names: Set<String>
    /// The folded tags.
    var tags: Set<String>
}

/// A view whose tags and show names are folded for comparison.
struct CompiledView {
    let id: ViewID
    let definition: ViewDefinition
    let tags: Set<String>
    let shows: Set<String>

    init(_ id: ViewID, _ definition: ViewDefinition) {
        self.id = id
        self.definition = definition
        tags = Set(definition.tags.map(FileName.folded))
        shows = Set(definition.shows.map(FileName.folded))
    }

    /// Whether the view may contain episodes of a show.
    func selects(_ show: ViewShow) -> Bool {
        show.isSubscribed && (tags.isEmpty || !tags.isDisjoint(with: show.tags))
            && (shows.isEmpty || !shows.isDisjoint(with: show.names))
    }

    /// Whether an episode meets all conditions of the view.
    ///
    /// - Parameter hasTitle: Whether the view's title pattern matches the episode's title; ignored without a pattern.
    func contains(_ episode: ViewCandidate, of show: ViewShow, hasTitle: Bool, now: Int64) -> Bool {
        guard !episode.isBuried, selects(show), definition.title == nil || hasTitle else { return false }
        for (flag, isWanted) in definition.flags where episode.flags.contains(flag) != isWanted { return false }
        if let medium = definition.medium, (medium == .video) != episode.isVideo { return false }
        if let age = definition.newerThan, episode.moment <= now - age { return false }
        if let age = definition.olderThan, episode.moment > now - age { return false }
        if definition.minDuration != nil || definition.maxDuration != nil {
            guard let duration = episode.duration, duration >= Double(definition.minDuration ?? 0),
                duration <= definition.maxDuration.map(Double.init) ?? .infinity
            else { return false }
        }
        return true
    }

    /// Returns the sort key of an episode in the view. The episode with the lowest key comes first.
    func place(_ episode: ViewCandidate) -> ViewPlace {
        let id = episode.id.rawValue
        let milliseconds = episode.duration.map { Int64(min(max($0, 0), 1e9) * 1_000) }
        return switch definition.order {
        case .newest: ViewPlace(rank: -episode.moment, tie: -id)
        case .oldest: ViewPlace(rank: episode.moment, tie: id)
        case .shortest: ViewPlace(rank: milliseconds ?? ViewSQL.last, tie: id)
        case .longest: ViewPlace(rank: milliseconds.map { -$0 } ?? ViewSQL.last, tie: -id)
        case .recentlyPlayed: ViewPlace(rank: episode.played.map { -$0 } ?? ViewSQL.last, tie: -id)
        }
    }
}

/// The sort key of an episode in a view.
struct ViewPlace: Comparable {
    var rank: Int64
    /// The second sort key, for equal ranks: the episode's id, negated in orders that begin with the highest value.
    var tie: Int64

    static func < (one: Self, other: Self) -> Bool { (one.rank, one.tie) < (other.rank, other.tie) }
}

/// SQL about views.
enum ViewSQL {
    /// The column with the time at which an episode was last played, in seconds since 1970.
    static let playedAt = "e.last_played"
    /// The rank of an episode that lacks the value by which the view is ordered, such as a duration. It puts the
    /// episode after all others.
    static let last: Int64 = 1 << 52

    /// Temporary tables, and triggers that record in them the episodes that a transaction has changed, directly or by a
    /// change of their renditions, shows or tags.
    ///
    /// No trigger records new episodes, since it would make their insertion slower. They are found by their ids, which
    /// are greater than `last` in `known_episode`, because SQLite never reuses an id of `episode` (AUTOINCREMENT).
    static let changeTracking = """
        CREATE TEMP TABLE changed_episode (id INTEGER PRIMARY KEY);
        CREATE TEMP TABLE changed_title (id INTEGER PRIMARY KEY);
        CREATE TEMP TABLE known_episode (last INTEGER NOT NULL);
        INSERT INTO known_episode SELECT coalesce(max(id), 0) FROM main.episode;
        CREATE TEMP TRIGGER view_updated
        AFTER UPDATE OF name, title, moment, duration, type, buried, played, position, pinned, last_played
        ON main.episode
        WHEN (old.name, old.title, old.moment, old.duration, old.type, old.buried, old.played, old.position,
                old.pinned, old.last_played)
            IS NOT (new.name, new.title, new.moment, new.duration, new.type, new.buried, new.played, new.position,
                new.pinned, new.last_played)
        BEGIN
            INSERT OR IGNORE INTO changed_episode VALUES (new.id);
        END;
        CREATE TEMP TRIGGER view_retitled AFTER UPDATE OF title ON main.episode WHEN old.title IS NOT new.title BEGIN
            INSERT OR IGNORE INTO changed_title VALUES (new.id);
        END;
        CREATE TEMP TRIGGER view_deleted AFTER DELETE ON main.episode BEGIN
            INSERT OR IGNORE INTO changed_episode VALUES (old.id);
        END;
        CREATE TEMP TRIGGER view_stored AFTER INSERT ON main.rendition WHEN new.complete BEGIN
            INSERT OR IGNORE INTO changed_episode VALUES (new.episode);
        END;
        CREATE TEMP TRIGGER view_completed AFTER UPDATE OF complete ON main.rendition
        WHEN old.complete IS NOT new.complete BEGIN
            INSERT OR IGNORE INTO changed_episode VALUES (new.episode);
        END;
        CREATE TEMP TRIGGER view_dropped AFTER DELETE ON main.rendition WHEN old.complete BEGIN
            INSERT OR IGNORE INTO changed_episode VALUES (old.episode);
        END;
        CREATE TEMP TRIGGER view_subscribed AFTER UPDATE OF ephemeral, name, title ON main.podcast
        WHEN (old.ephemeral, old.name, old.title) IS NOT (new.ephemeral, new.name, new.title) BEGIN
            INSERT OR IGNORE INTO changed_episode SELECT id FROM episode WHERE podcast = new.id;
            INSERT OR IGNORE INTO changed_title
                SELECT id FROM episode WHERE podcast = new.id AND old.ephemeral AND NOT new.ephemeral;
        END;
        CREATE TEMP TRIGGER view_tagged AFTER INSERT ON main.show_tag BEGIN
            INSERT OR IGNORE INTO changed_episode SELECT id FROM episode WHERE podcast = new.podcast;
        END;
        CREATE TEMP TRIGGER view_untagged AFTER DELETE ON main.show_tag BEGIN
            INSERT OR IGNORE INTO changed_episode SELECT id FROM episode WHERE podcast = old.podcast;
        END;
        """

    /// Returns a query that finds at least the episodes of a view, in its order.
    ///
    /// The query's conditions only narrow the search: `CompiledView.contains` decides whether the view has an episode.
    ///
    /// - Parameters:
    ///   - shows: The shows that the view selects; `nil` for all.
    ///   - place: The sort key after which to search; `nil` for all. Used only for the orders `newest` and `oldest`.
    static func search(_ view: CompiledView, shows: [ShowID]?, after place: ViewPlace?, now: Int64) -> String {
        let definition = view.definition
        var conditions = ["e.buried = 0"]
        if let isUnplayed = definition.flags[.unplayed] { conditions.append("e.played = \(isUnplayed ? 0 : 1)") }
        if definition.flags[.inProgress] == true {
            // Written as an integer, like the number in the condition of the index `episode_begun`: otherwise SQLite
            // does not use this index.
            conditions.append("e.played = 0 AND e.position >= \(Int(ListeningRules.inProgress))")
        }
        if definition.flags[.pinned] == true { conditions.append("e.pinned = 1") }
        if definition.flags[.downloaded] == true {
            conditions.append("e.id IN (SELECT episode FROM rendition WHERE complete = 1)")
        }
        if definition.title != nil {
            conditions.append("e.id IN (SELECT episode FROM view_title WHERE view = \(view.id))")
        }
        if let shows { conditions.append("e.podcast IN (\(shows.map(\.description).joined(separator: ", ")))") }
        if let age = definition.newerThan { conditions.append("e.moment > \(now - age)") }
        if let age = definition.olderThan { conditions.append("e.moment <= \(now - age)") }
        if let least = definition.minDuration { conditions.append("e.duration >= \(least)") }
        if let most = definition.maxDuration { conditions.append("e.duration <= \(most)") }
        let milliseconds = "CAST(min(max(e.duration, 0), 1e9) * 1000 AS INTEGER)"
        let order: String
        switch definition.order {
        case .newest:
            order = "e.moment DESC, e.id DESC"
            if let place { conditions.append("(e.moment, e.id) < (\(-place.rank), \(-place.tie))") }
        case .oldest:
            order = "e.moment, e.id"
            if let place { conditions.append("(e.moment, e.id) > (\(place.rank), \(place.tie))") }
        case .shortest: order = "coalesce(\(milliseconds), \(last)), e.id"
        case .longest: order = "coalesce(-\(milliseconds), \(last)), e.id DESC"
        case .recentlyPlayed: order = "coalesce(-\(playedAt), \(last)), e.id DESC"
        }
        return
            "SELECT \(ViewCandidate.columns) FROM episode e WHERE \(conditions.joined(separator: " AND ")) ORDER BY \(order)"
    }
}
