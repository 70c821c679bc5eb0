-- The tables of the library.

-- The shows and episodes, and the cached files.
--
-- AUTOINCREMENT, because ids are part of inode numbers: the kernel's caches would confuse a file with an earlier
-- one of the same id. Show notes have a separate table, so that listings read small rows.
--
-- An alternate (a further encoding of an episode, with a file of its own in the folder `.alternates`) has two
-- rows. The row in `episode` gives it an episode id, generations and renditions like those of any episode; the row
-- in `alternate` names the episode to which it belongs. In the row in `episode`, `name` is the path below the
-- show's folder, and `buried` is 2, so that no listing of episodes contains the alternate. Once the feed no longer
-- offers the alternate, `buried` is 1, as in every tombstone (the row of a removed episode).
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
    ephemeral INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,   -- consecutive failed refreshes
    update_interval INTEGER,               -- the feed's own interval in seconds
    quiet_times INTEGER,                   -- QuietTimes
    unplayable INTEGER,                    -- the number of the feed's items that are not episodes
    given_url TEXT,                        -- NULL where a catalogue or a server named it
    reach INTEGER,                         -- AddressSpace: the most private that the feed may be in
    space INTEGER,                         -- AddressSpace: what the feed was last fetched from
    trouble TEXT,                          -- FeedTrouble
    trouble_due INTEGER,                   -- when to announce it; NULL once that is done
    cover TEXT,                            -- the cached cover's file extension; NULL if none is cached
    cover_due INTEGER,                     -- when to fetch the cover; NULL for not at all
    details TEXT                           -- what only the pages need, as JSON
) STRICT;
CREATE INDEX podcast_cover ON podcast (cover_due) WHERE cover_due IS NOT NULL;
CREATE INDEX podcast_trouble ON podcast (trouble_due) WHERE trouble IS NOT NULL;
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
    visible_digest INTEGER NOT NULL,
    declined INTEGER NOT NULL DEFAULT 0,   -- cancelled or evicted by a person
    automatic INTEGER NOT NULL DEFAULT 0,  -- fetched ahead, and not requested since
    medium TEXT,                   -- the encoding, unless it is the item's main one
    main_url TEXT,                 -- the address of the main encoding in that case
    last_played INTEGER,           -- when it was last listened to, on any device
    heard INTEGER,                 -- when played or position last changed, on any device
    started REAL,                  -- where the last stretch of listening began, for the sync server
    total REAL,                    -- the duration according to the player, for the sync server
    bytes INTEGER GENERATED ALWAYS AS (length(CAST(name AS BLOB)) + length(CAST(title AS BLOB))) STORED
) STRICT;
CREATE UNIQUE INDEX episode_folded ON episode (podcast, folded);
CREATE INDEX episode_order ON episode (podcast, moment DESC, id DESC, sidecars, bytes, changed)
    WHERE buried = 0;
CREATE INDEX episode_alternate ON episode (podcast, changed) WHERE buried = 2;
CREATE INDEX episode_moment ON episode (moment DESC, id DESC) WHERE buried = 0;
CREATE INDEX episode_begun ON episode (position) WHERE played = 0 AND position >= 30;

CREATE TABLE detail (
    episode INTEGER PRIMARY KEY REFERENCES episode ON DELETE CASCADE,
    extras TEXT,                   -- EpisodeExtras as JSON; NULL without any
    notes TEXT
) STRICT;

CREATE TABLE episode_details (     -- what only the pages need, as JSON
    episode INTEGER PRIMARY KEY REFERENCES episode ON DELETE CASCADE,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE media_source (        -- the file's addresses in order, if it has several or a hash
    episode INTEGER NOT NULL REFERENCES episode ON DELETE CASCADE,
    position INTEGER NOT NULL,
    url TEXT NOT NULL,
    hash TEXT,
    PRIMARY KEY (episode, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE alternate (
    medium INTEGER PRIMARY KEY REFERENCES episode ON DELETE CASCADE,
    episode INTEGER NOT NULL REFERENCES episode ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,            -- in the episode's folder
    key TEXT NOT NULL,             -- identifies the encoding in later documents
    title TEXT,
    bit_rate REAL,
    height INTEGER,
    language TEXT,
    codecs TEXT
) STRICT;
CREATE INDEX alternate_episode ON alternate (episode, position);

CREATE TABLE rendition (
    episode INTEGER PRIMARY KEY REFERENCES episode ON DELETE CASCADE,
    podcast INTEGER NOT NULL,      -- that of the episode: counting a show's cached files takes one seek
    generation INTEGER NOT NULL,
    file TEXT NOT NULL UNIQUE,
    size INTEGER,
    validator TEXT,
    final_url TEXT,
    received INTEGER NOT NULL DEFAULT 0,
    complete INTEGER NOT NULL DEFAULT 0,
    sha256 TEXT,
    created INTEGER NOT NULL,
    last_opened INTEGER NOT NULL,
    file_state TEXT,               -- the state of the complete cache file; opaque to the library
    verified INTEGER NOT NULL DEFAULT 0, -- the file's hash is the one in the feed
    chapters TEXT,                 -- those inside the complete file, as JSON; '' for none, NULL while unread
    archived TEXT                  -- the path in the archive folder; NULL for a file in the cache
) STRICT;
CREATE INDEX rendition_complete ON rendition (podcast) WHERE complete = 1;
CREATE INDEX rendition_unarchived ON rendition (podcast) WHERE complete = 1 AND archived IS NULL;
CREATE INDEX rendition_unread ON rendition (episode) WHERE complete = 1 AND chapters IS NULL;
CREATE INDEX rendition_bytes ON rendition (archived, received);  -- the size of the cache is summed up from it

CREATE TABLE archive_folder (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    path TEXT NOT NULL,
    marker TEXT NOT NULL,          -- the id in the folder's marker file
    owner TEXT NOT NULL,           -- in the names of this installation's unfinished files
    problem TEXT,                  -- why the files cannot be read now; NULL while they can
    hindrance TEXT                 -- why the last file that was to be added was not; NULL once one was
) STRICT;

CREATE TABLE archived (            -- the episodes' files in the archive folder; they outlive their shows
    path TEXT PRIMARY KEY,         -- relative to the folder
    episode INTEGER UNIQUE REFERENCES episode ON DELETE SET NULL,
    feed TEXT NOT NULL,            -- the address of the show's feed, for a later subscription
    guid TEXT,
    url TEXT NOT NULL,             -- the address of the media file
    size INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    file_state TEXT,
    defect TEXT                    -- why the file is not served, such as that it is missing
) STRICT, WITHOUT ROWID;
CREATE INDEX archived_orphan ON archived (feed) WHERE episode IS NULL;
CREATE INDEX archived_defect ON archived (path) WHERE defect IS NOT NULL;

CREATE TABLE tagged (
    episode INTEGER PRIMARY KEY REFERENCES episode ON DELETE CASCADE,
    generation INTEGER NOT NULL,
    rendition INTEGER NOT NULL,
    tag_size INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    total INTEGER
) STRICT;

-- The views, the episodes in each view, tags, and other folders in the root.
CREATE TABLE view (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    folded TEXT NOT NULL UNIQUE,
    definition TEXT NOT NULL,               -- lines of KEY=VALUE
    count INTEGER NOT NULL DEFAULT 0,
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

-- Downloads and uploads, outstanding or failed; settings; events stored for disconnected clients. The ids of
-- uploads come from the sequence of the downloads' ids, so that the id of a task is unique.
CREATE TABLE download (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    episode INTEGER NOT NULL UNIQUE REFERENCES episode ON DELETE CASCADE,
    session TEXT NOT NULL,
    suspended INTEGER NOT NULL DEFAULT 0,
    created INTEGER NOT NULL,
    error TEXT,
    error_number INTEGER,
    automatic INTEGER NOT NULL DEFAULT 0  -- not requested by a person
) STRICT;

CREATE TABLE upload (
    id INTEGER PRIMARY KEY,
    file TEXT NOT NULL UNIQUE,             -- of the copy of the media
    value TEXT NOT NULL                    -- the upload as JSON
) STRICT;

CREATE TABLE setting (
    podcast INTEGER NOT NULL REFERENCES podcast ON DELETE CASCADE,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (podcast, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    sequence INTEGER PRIMARY KEY,
    time INTEGER NOT NULL,
    payload TEXT NOT NULL          -- the message sent to watching clients; JSON
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

-- The tables of synchronization.
--
-- The triggers fill the offline queue: every write of a subscription, a played flag or a position queues the
-- change in the same transaction. They queue nothing without an account, or while changes from the server are
-- applied (`applying`). `sync_heard` also records the time of the change in `episode.heard`, without an account
-- too: at the first login the state is sent with this time. The time is CAST(strftime('%s', 'now') AS INTEGER), since
-- unixepoch() would require SQLite 3.38.
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

CREATE TABLE sync_clamped (        -- applied actions with a timestamp in the future: they are applied once
    action TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE sync_removed (        -- shows unsubscribed by another device, which may return unchanged
    podcast INTEGER PRIMARY KEY REFERENCES podcast ON DELETE CASCADE,
    at INTEGER NOT NULL
) STRICT;

CREATE TRIGGER sync_subscribed AFTER INSERT ON podcast
WHEN NEW.ephemeral = 0 AND EXISTS (SELECT 1 FROM sync_account WHERE applying = 0) BEGIN
    INSERT INTO sync_subscription (url, podcast, subscribed, at)
    VALUES (NEW.url, NEW.id, 1, CAST(strftime('%s', 'now') AS INTEGER))
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
    SELECT NEW.url, NEW.id, 1, CAST(strftime('%s', 'now') AS INTEGER) FROM sync_account WHERE applying = 0
    ON CONFLICT (url) DO UPDATE SET
        podcast = excluded.podcast, subscribed = 1, at = excluded.at, serial = serial + 1;
END;

CREATE TRIGGER sync_moved AFTER UPDATE OF url ON podcast
WHEN NEW.ephemeral = 0 AND OLD.url <> NEW.url AND EXISTS (SELECT 1 FROM sync_account WHERE applying = 0) BEGIN
    INSERT INTO sync_subscription (url, podcast, subscribed, at)
    VALUES (OLD.url, OLD.id, 0, CAST(strftime('%s', 'now') AS INTEGER))
    ON CONFLICT (url) DO UPDATE SET
        podcast = excluded.podcast, subscribed = 0, at = excluded.at, serial = serial + 1;
    INSERT INTO sync_subscription (url, podcast, subscribed, at)
    VALUES (NEW.url, NEW.id, 1, CAST(strftime('%s', 'now') AS INTEGER))
    ON CONFLICT (url) DO UPDATE SET
        podcast = excluded.podcast, subscribed = 1, at = excluded.at, serial = serial + 1;
END;

CREATE TRIGGER sync_unsubscribed BEFORE DELETE ON podcast
WHEN EXISTS (SELECT 1 FROM sync_account) BEGIN
    INSERT INTO sync_subscription (url, podcast, subscribed, at)
    SELECT OLD.url, OLD.id, 0, CAST(strftime('%s', 'now') AS INTEGER)
    FROM sync_account WHERE applying = 0 AND OLD.ephemeral = 0
    ON CONFLICT (url) DO UPDATE SET
        podcast = excluded.podcast, subscribed = 0, at = excluded.at, serial = serial + 1;
    -- Parks the states of the show's episodes, in case it is subscribed again.
    INSERT OR REPLACE INTO sync_parked (podcast, episode, guid, time, played, position, unsent, received)
    SELECT OLD.url, coalesce(e.main_url, e.url), coalesce(e.guid, ''),
        coalesce(p.stamp, max(p.at, p.floor), s.time), e.played,
        CAST(e.position AS INTEGER), p.episode IS NOT NULL, CAST(strftime('%s', 'now') AS INTEGER)
    FROM episode e LEFT JOIN sync_episode s ON s.episode = e.id LEFT JOIN sync_pending p ON p.episode = e.id
    WHERE e.podcast = OLD.id AND (s.episode IS NOT NULL OR p.episode IS NOT NULL);
END;

CREATE TRIGGER sync_heard AFTER UPDATE OF played, position ON episode
WHEN (OLD.played <> NEW.played OR OLD.position IS NOT NEW.position)
    AND NOT EXISTS (SELECT 1 FROM sync_account WHERE applying = 1) BEGIN
    UPDATE episode SET heard = CAST(strftime('%s', 'now') AS INTEGER) WHERE id = NEW.id;
    INSERT INTO sync_pending (episode, at, floor)
    SELECT NEW.id, CAST(strftime('%s', 'now') AS INTEGER), coalesce((SELECT time + 1
    FROM sync_episode WHERE episode = NEW.id), 0)
    FROM sync_account, podcast WHERE podcast.id = NEW.podcast AND podcast.ephemeral = 0
    ON CONFLICT (episode) DO UPDATE SET
        at = excluded.at, floor = max(floor, excluded.floor, coalesce(stamp + 1, 0)), stamp = NULL;
END;

-- A subscribed show's cover is fetched when its address is new. Until then the former one stays.
CREATE TRIGGER cover_moved AFTER UPDATE OF image, ephemeral ON podcast
WHEN OLD.image IS NOT NEW.image OR OLD.ephemeral <> NEW.ephemeral BEGIN
    UPDATE podcast SET
        cover = iif(image IS NULL, NULL, cover),
        cover_due = iif(ephemeral = 0 AND image IS NOT NULL AND (image IS NOT OLD.image OR cover IS NULL), 0, NULL)
    WHERE id = NEW.id;
END;

-- The first views, and the other folders in the root.
INSERT INTO view (id, name, folded, definition) VALUES
    (1, 'Latest', 'latest', 'limit=50'),
    (2, 'Downloaded', 'downloaded', 'downloaded=true' || char(10) || 'limit=none'),
    (3, 'Unplayed', 'unplayed', 'unplayed=true'),
    (4, 'In Progress', 'in progress', 'in_progress=true' || char(10) || 'order=recently_played');
INSERT INTO root_folder (role, name, folded) VALUES ('tags', 'Tags', 'tags'), ('tagged', 'Tagged', 'tagged');
