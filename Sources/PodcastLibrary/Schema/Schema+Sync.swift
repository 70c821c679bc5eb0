extension Schema {
    /// The tables of synchronization.
    ///
    /// The triggers fill the offline queue: every write of a subscription, a played flag or a position queues the
    /// change in the same transaction. They queue nothing without an account, or while changes from the server are
    /// applied (`applying`). `sync_heard` also records the time of the change in `episode.heard`, without an account
    /// too: at the first login the state is sent with this time.
    static let sync = """
        CREATE TABLE sync_account (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            url TEXT NOT NULL,
            user TEXT NOT NULL,
            device TEXT NOT NULL,
            kind TEXT NOT NULL,
            subscriptions_since INTEGER NOT NULL DEFAULT 0,
            episodes_since INTEGER NOT NULL DEFAULT 0,
            episodes_full INTEGER,
            last_sync INTEGER,
            next_sync INTEGER,
            held_until INTEGER,
            failures INTEGER NOT NULL DEFAULT 0,
            error TEXT,
            stopped INTEGER NOT NULL DEFAULT 0,
            applying INTEGER NOT NULL DEFAULT 0
        ) STRICT;

        CREATE TABLE sync_feed (           -- the addresses in the server's list, as the server spells them
            url TEXT PRIMARY KEY,
            subscribed INTEGER NOT NULL,
            podcast INTEGER                -- the show with this address; remains after the show is removed
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX sync_feed_podcast ON sync_feed (podcast);

        CREATE TABLE sync_subscription (   -- changes that the server has not confirmed
            url TEXT PRIMARY KEY,
            podcast INTEGER NOT NULL,
            subscribed INTEGER NOT NULL,
            at INTEGER NOT NULL,
            sent INTEGER,                  -- the value sent without a response: the server may have accepted it
            serial INTEGER NOT NULL DEFAULT 1
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE sync_episode (        -- the timestamp of each episode's state, by the server's clock
            episode INTEGER PRIMARY KEY REFERENCES episode ON DELETE CASCADE,
            time INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE sync_pending (        -- states that the server has not confirmed
            episode INTEGER PRIMARY KEY REFERENCES episode ON DELETE CASCADE,
            at INTEGER NOT NULL,           -- by the local clock
            floor INTEGER NOT NULL,        -- the lowest timestamp to send it with: later than that of the former state
            stamp INTEGER                  -- the timestamp first sent with, so that a repeated request is identical
        ) STRICT;

        CREATE TABLE sync_parked (         -- states of episodes that are not in the library
            podcast TEXT NOT NULL,
            episode TEXT NOT NULL,
            guid TEXT NOT NULL,
            time INTEGER NOT NULL,
            played INTEGER NOT NULL,
            position INTEGER,
            unsent INTEGER NOT NULL DEFAULT 0,
            received INTEGER NOT NULL,
            PRIMARY KEY (podcast, episode, guid)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE sync_action (         -- the log of actions received from the server
            podcast TEXT NOT NULL,
            episode TEXT NOT NULL,
            guid TEXT NOT NULL,
            action TEXT NOT NULL,
            device TEXT NOT NULL,
            time INTEGER NOT NULL,
            started INTEGER NOT NULL,
            position INTEGER NOT NULL,
            total INTEGER NOT NULL,
            received INTEGER NOT NULL,
            clamped INTEGER NOT NULL,      -- its timestamp was in the future: the time of receipt is used
            UNIQUE (podcast, episode, guid, action, device, time, started, position, total)
        ) STRICT;

        CREATE TABLE sync_removed (        -- shows unsubscribed by another device, which may return unchanged
            podcast INTEGER PRIMARY KEY REFERENCES podcast ON DELETE CASCADE,
            at INTEGER NOT NULL
        ) STRICT;

        CREATE TRIGGER sync_subscribed AFTER INSERT ON podcast
        WHEN NEW.ephemeral = 0 AND EXISTS (SELECT 1 FROM sync_account WHERE applying = 0) BEGIN
            INSERT INTO sync_subscription (url, podcast, subscribed, at) VALUES (NEW.url, NEW.id, 1, \(now))
            ON CONFLICT (url) DO UPDATE SET
                podcast = excluded.podcast, subscribed = 1, at = excluded.at, serial = serial + 1;
        END;

        CREATE TRIGGER sync_found_subscribed AFTER UPDATE OF ephemeral ON podcast
        WHEN OLD.ephemeral = 1 AND NEW.ephemeral = 0 BEGIN
            DELETE FROM sync_removed WHERE podcast = NEW.id;
            INSERT INTO sync_pending (episode, at, floor)
            SELECT e.id, coalesce(e.heard, 0), 0 FROM sync_account, episode e
            WHERE applying = 0 AND e.podcast = NEW.id AND (e.played = 1 OR e.position >= 1)
            ON CONFLICT (episode) DO NOTHING;
            INSERT INTO sync_subscription (url, podcast, subscribed, at)
            SELECT NEW.url, NEW.id, 1, \(now) FROM sync_account WHERE applying = 0
            ON CONFLICT (url) DO UPDATE SET
                podcast = excluded.podcast, subscribed = 1, at = excluded.at, serial = serial + 1;
        END;

        CREATE TRIGGER sync_moved AFTER UPDATE OF url ON podcast
        WHEN NEW.ephemeral = 0 AND OLD.url <> NEW.url AND EXISTS (SELECT 1 FROM sync_account WHERE applying = 0) BEGIN
            INSERT INTO sync_subscription (url, podcast, subscribed, at) VALUES (OLD.url, OLD.id, 0, \(now))
            ON CONFLICT (url) DO UPDATE SET
                podcast = excluded.podcast, subscribed = 0, at = excluded.at, serial = serial + 1;
            INSERT INTO sync_subscription (url, podcast, subscribed, at) VALUES (NEW.url, NEW.id, 1, \(now))
            ON CONFLICT (url) DO UPDATE SET
                podcast = excluded.podcast, subscribed = 1, at = excluded.at, serial = serial + 1;
        END;

        CREATE TRIGGER sync_unsubscribed BEFORE DELETE ON podcast
        WHEN EXISTS (SELECT 1 FROM sync_account) BEGIN
            INSERT INTO sync_subscription (url, podcast, subscribed, at)
            SELECT OLD.url, OLD.id, 0, \(now) FROM sync_account WHERE applying = 0 AND OLD.ephemeral = 0
            ON CONFLICT (url) DO UPDATE SET
                podcast = excluded.podcast, subscribed = 0, at = excluded.at, serial = serial + 1;
            -- Parks the states of the show's episodes, in case it is subscribed again.
            INSERT OR REPLACE INTO sync_parked (podcast, episode, guid, time, played, position, unsent, received)
            SELECT OLD.url, coalesce(e.main_url, e.url), coalesce(e.guid, ''), coalesce(p.stamp, max(p.at, p.floor), s.time), e.played,
                CAST(e.position AS INTEGER), p.episode IS NOT NULL, \(now)
            FROM episode e LEFT JOIN sync_episode s ON s.episode = e.id LEFT JOIN sync_pending p ON p.episode = e.id
            WHERE e.podcast = OLD.id AND (s.episode IS NOT NULL OR p.episode IS NOT NULL);
        END;

        CREATE TRIGGER sync_heard AFTER UPDATE OF played, position ON episode
        WHEN (OLD.played <> NEW.played OR OLD.position IS NOT NEW.position)
            AND NOT EXISTS (SELECT 1 FROM sync_account WHERE applying = 1) BEGIN
            UPDATE episode SET heard = \(now) WHERE id = NEW.id;
            INSERT INTO sync_pending (episode, at, floor)
            SELECT NEW.id, \(now), coalesce((SELECT time + 1 FROM sync_episode WHERE episode = NEW.id), 0)
            FROM sync_account, podcast WHERE podcast.id = NEW.podcast AND podcast.ephemeral = 0
            ON CONFLICT (episode) DO UPDATE SET
                at = excluded.at, floor = max(floor, excluded.floor, coalesce(stamp + 1, 0)), stamp = NULL;
        END;
        """

    /// The SQL expression for the current time in seconds since 1970 UTC. `unixepoch()` would require SQLite
    /// 3.38.
    private static let now = "CAST(strftime('%s', 'now') AS INTEGER)"
}
