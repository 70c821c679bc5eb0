extension Schema {
    /// The migration that adds the encodings and addresses of episodes' files. It also deletes the renditions and
    /// downloads of streams' playlists, because these are no longer downloaded. The next refresh computes the sizes of
    /// the playlists.
    static let media = """
        ALTER TABLE episode ADD COLUMN medium TEXT;     -- the encoding, unless it is the item's main one
        ALTER TABLE episode ADD COLUMN main_url TEXT;   -- the address of the main encoding in that case
        ALTER TABLE rendition ADD COLUMN verified INTEGER NOT NULL DEFAULT 0;  -- the file's hash is the one in the feed
        CREATE TABLE media_source (                     -- the file's addresses in order, if it has several or a hash
            episode INTEGER NOT NULL REFERENCES episode ON DELETE CASCADE,
            position INTEGER NOT NULL,
            url TEXT NOT NULL,
            hash TEXT,
            PRIMARY KEY (episode, position)
        ) STRICT, WITHOUT ROWID;
        CREATE TEMP TABLE stream AS SELECT id FROM episode WHERE name LIKE '%.m3u8' OR name LIKE '%.m3u';
        UPDATE episode SET confirmed_size = NULL, digest = 0, visible_digest = 0,
                generation = generation + (SELECT count(*) FROM rendition r WHERE r.episode = episode.id)
            WHERE id IN (SELECT id FROM stream);
        DELETE FROM download WHERE episode IN (SELECT id FROM stream);
        DELETE FROM rendition WHERE episode IN (SELECT id FROM stream);
        DROP TABLE stream;
        """
}
