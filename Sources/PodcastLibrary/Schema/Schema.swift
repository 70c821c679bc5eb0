import GRDB

/// The tables, and the migrations of older libraries.
///
/// Migrations are registered by their version and never edited once released: a change is a new migration.
enum Schema {
    /// The version of the tables, stored in `PRAGMA user_version`, where readers of any version find it.
    static var version: Int { steps.count }

    /// The migrations; the first leads to version 1.
    private static let steps: [@Sendable (Database) throws -> Void] = [
        { db in try db.execute(sql: coreTables) },
        { db in try db.execute(sql: eventsAndAutomation) },
        { db in try db.execute(sql: uploads) },
        { db in try db.execute(sql: sync) },
        { db in try renameUnsafeFiles(db) },
        // The state of the complete cache file; opaque to this module.
        { db in try db.execute(sql: "ALTER TABLE rendition ADD COLUMN file_state TEXT") },
        { db in try db.execute(sql: access) },
        { db in try db.execute(sql: details) },
        { db in try db.execute(sql: media) },
        { db in try db.execute(sql: listening) },
        { db in try addViews(db) },
        { db in try db.execute(sql: alternates) },
        { db in try db.execute(sql: chapterImages) },
        { db in try addTagged(db) },
    ]

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        for (version, step) in zip(1..., steps) {
            migrator.registerMigration("\(version)") { db in
                try step(db)
                try db.execute(sql: "PRAGMA user_version = \(version)")
            }
        }
        return migrator
    }

    /// The shows, episodes, renditions and downloads.
    ///
    /// AUTOINCREMENT, because ids are part of inode numbers: the kernel's caches would confuse a file with an earlier
    /// one of the same id. Show notes have a separate table, so that listings read small rows.
    private static let coreTables = """
        CREATE TABLE podcast (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL,
            folded TEXT NOT NULL,
            url TEXT NOT NULL UNIQUE,
            title TEXT NOT NULL,
            link TEXT,
            description TEXT,
            language TEXT,
            image TEXT,
            author TEXT,
            guid TEXT,
            type TEXT,
            explicit INTEGER,
            state TEXT NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'failed', 'gone')),
            error TEXT,
            http_status INTEGER,
            etag TEXT,
            last_modified TEXT,
            final_url TEXT,
            content_type TEXT,
            last_refresh INTEGER,
            next_refresh INTEGER,
            created INTEGER NOT NULL,
            changed INTEGER NOT NULL,
            ephemeral INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE UNIQUE INDEX podcast_folded ON podcast (folded) WHERE ephemeral = 0;

        CREATE TABLE episode (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            podcast INTEGER NOT NULL REFERENCES podcast ON DELETE CASCADE,
            name TEXT NOT NULL,
            folded TEXT NOT NULL,          -- the stem, case folded: what must be unique in the folder
            guid TEXT,
            title TEXT NOT NULL,
            published INTEGER,
            published_offset INTEGER NOT NULL DEFAULT 0,
            moment INTEGER NOT NULL,       -- published, otherwise first_seen: the sort key of listings
            duration REAL,
            url TEXT NOT NULL,
            type TEXT,
            length INTEGER,
            season INTEGER,
            episode REAL,
            episode_type TEXT,
            explicit INTEGER,
            link TEXT,
            image TEXT,
            author TEXT,
            first_seen INTEGER NOT NULL,
            changed INTEGER NOT NULL,
            listed INTEGER NOT NULL DEFAULT 1,
            buried INTEGER NOT NULL DEFAULT 0,  -- a tombstone: not listed, keeps id, name and generation
            confirmed_size INTEGER,
            generation INTEGER NOT NULL DEFAULT 1,
            played INTEGER NOT NULL DEFAULT 0,
            position REAL,
            pinned INTEGER NOT NULL DEFAULT 0,
            last_opened INTEGER,
            sidecars INTEGER NOT NULL DEFAULT 0,
            digest INTEGER NOT NULL,
            visible_digest INTEGER NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX episode_folded ON episode (podcast, folded);
        CREATE INDEX episode_order ON episode (podcast, moment DESC, id DESC) WHERE buried = 0;
        CREATE INDEX episode_moment ON episode (moment DESC, id DESC) WHERE buried = 0;

        CREATE TABLE detail (
            episode INTEGER PRIMARY KEY REFERENCES episode ON DELETE CASCADE,
            notes TEXT,
            chapters_url TEXT
        ) STRICT;

        CREATE TABLE attachment (
            episode INTEGER NOT NULL REFERENCES episode ON DELETE CASCADE,
            kind INTEGER NOT NULL,         -- 0 alternate media, 1 transcript, 2 chapter
            position INTEGER NOT NULL,
            url TEXT,
            type TEXT,
            language TEXT,
            length INTEGER,
            start REAL,
            title TEXT,
            PRIMARY KEY (episode, kind, position)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE rendition (
            episode INTEGER PRIMARY KEY REFERENCES episode ON DELETE CASCADE,
            podcast INTEGER NOT NULL,      -- that of the episode: counting a show's cached files takes one seek
            generation INTEGER NOT NULL,
            file TEXT NOT NULL UNIQUE,
            size INTEGER,
            validator TEXT,
            content_type TEXT,
            final_url TEXT,
            received INTEGER NOT NULL DEFAULT 0,
            complete INTEGER NOT NULL DEFAULT 0,
            sha256 TEXT,
            created INTEGER NOT NULL,
            last_opened INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX rendition_complete ON rendition (podcast) WHERE complete = 1;

        CREATE TABLE download (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            episode INTEGER NOT NULL UNIQUE REFERENCES episode ON DELETE CASCADE,
            session TEXT NOT NULL,
            suspended INTEGER NOT NULL DEFAULT 0,
            created INTEGER NOT NULL,
            error TEXT,
            error_number INTEGER
        ) STRICT;

        CREATE TABLE setting (
            podcast INTEGER NOT NULL REFERENCES podcast ON DELETE CASCADE,
            key TEXT NOT NULL,
            value TEXT NOT NULL,
            PRIMARY KEY (podcast, key)
        ) STRICT, WITHOUT ROWID;
        """

    /// Events stored for disconnected clients, and the data for automatic transfers and refreshes.
    private static let eventsAndAutomation = """
        CREATE TABLE event (
            sequence INTEGER PRIMARY KEY,
            time INTEGER NOT NULL,
            payload TEXT NOT NULL          -- the message sent to watching clients; opaque to the library
        ) STRICT;
        CREATE INDEX event_time ON event (time);

        CREATE TABLE session (
            identifier TEXT PRIMARY KEY,
            acknowledged INTEGER NOT NULL  -- the last event that its client has acknowledged
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE counter (
            name TEXT PRIMARY KEY,
            value INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE address (             -- former feed addresses, and announced ones that were not accepted
            podcast INTEGER NOT NULL REFERENCES podcast ON DELETE CASCADE,
            url TEXT NOT NULL,
            PRIMARY KEY (podcast, url)
        ) STRICT, WITHOUT ROWID;

        ALTER TABLE download ADD COLUMN automatic INTEGER NOT NULL DEFAULT 0;  -- not requested by a person
        ALTER TABLE episode ADD COLUMN declined INTEGER NOT NULL DEFAULT 0;    -- cancelled or evicted by a person
        ALTER TABLE episode ADD COLUMN automatic INTEGER NOT NULL DEFAULT 0;   -- fetched ahead, and not requested since
        ALTER TABLE podcast ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;    -- consecutive failed refreshes
        ALTER TABLE podcast ADD COLUMN update_interval INTEGER;                -- the feed's own interval in seconds
        """
}
