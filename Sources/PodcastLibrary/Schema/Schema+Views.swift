import GRDB

extension Schema {
    /// The tables of views, of the episodes in each view, of tags, and of other folders in the root.
    private static let viewTables = """
        CREATE TABLE view (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL,
            folded TEXT NOT NULL UNIQUE,
            definition TEXT NOT NULL,               -- lines of KEY=VALUE
            count INTEGER NOT NULL DEFAULT 0,
            truncated INTEGER NOT NULL DEFAULT 0,   -- whether more episodes match than the limit allows
            revision INTEGER NOT NULL DEFAULT 0,    -- grows when an episode enters, leaves or changes its name
            changed INTEGER NOT NULL DEFAULT 0,     -- when an episode last entered or left
            expires INTEGER                         -- when the passing of time next changes the episodes
        ) STRICT;

        CREATE TABLE view_episode (
            view INTEGER NOT NULL REFERENCES view ON DELETE CASCADE,
            rank INTEGER NOT NULL,                  -- ascending in the view's order
            tie INTEGER NOT NULL,                   -- the order of equal ranks: the episode's id or its negative
            episode INTEGER NOT NULL,
            PRIMARY KEY (view, rank, tie)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX view_episode_episode ON view_episode (episode);

        CREATE TABLE view_title (                   -- the episodes whose titles a view's expression matches
            episode INTEGER NOT NULL,
            view INTEGER NOT NULL REFERENCES view ON DELETE CASCADE,
            PRIMARY KEY (episode, view)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX view_title_view ON view_title (view);

        CREATE INDEX episode_begun ON episode (position) WHERE played = 0 AND position >= 30;

        CREATE TABLE tag (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL,
            folded TEXT NOT NULL UNIQUE
        ) STRICT;

        CREATE TABLE show_tag (
            podcast INTEGER NOT NULL REFERENCES podcast ON DELETE CASCADE,
            tag INTEGER NOT NULL REFERENCES tag ON DELETE CASCADE,
            PRIMARY KEY (podcast, tag)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX show_tag_tag ON show_tag (tag);

        CREATE TABLE root_folder (                  -- other folders in the root that may collide with a show
            role TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            folded TEXT NOT NULL UNIQUE
        ) STRICT, WITHOUT ROWID;
        """

    /// The names and definitions of the views of a new library. `Latest` and `Downloaded` come first, so that they get
    /// the ids 1 and 2, which are part of inode numbers that earlier versions used.
    private static let firstViews = [
        ("Latest", "limit=50"), ("Downloaded", "downloaded=true\nlimit=none"), ("Unplayed", "unplayed=true"),
        ("In Progress", "in_progress=true\norder=recently_played"),
    ]

    /// Creates the tables, the first views and the folder of tags. If a show already has the name of one of these
    /// folders, the new folder's name gets a number.
    static func addViews(_ db: Database) throws {
        try db.execute(sql: viewTables)
        var names = UniqueNames(taken: [])
        for (name, definition) in firstViews {
            let name = try names.claim(name) { try Library.isShow($0, db) }
            // `expires` is 0, a time in the past. So opening the migrated library computes the view's episodes.
            try db.execute(
                sql: "INSERT INTO view (name, folded, definition, expires) VALUES (?, ?, ?, 0)",
                arguments: [name, FileName.folded(name), definition])
        }
        let tags = try names.claim("Tags") { try Library.isShow($0, db) }
        try db.execute(
            sql: "INSERT INTO root_folder (role, name, folded) VALUES ('tags', ?, ?)",
            arguments: [tags, FileName.folded(tags)])
    }
}
