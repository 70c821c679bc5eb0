extension Schema {
    /// The uploads, outstanding or failed. Their ids come from the sequence of the downloads' ids, so that the id of a
    /// task is unique.
    static let uploads = """
        CREATE TABLE upload (
            id INTEGER PRIMARY KEY,
            url TEXT NOT NULL,
            title TEXT NOT NULL,
            description TEXT,
            name TEXT NOT NULL,                    -- of the file that was published
            file TEXT NOT NULL UNIQUE,             -- of the copy of it
            size INTEGER NOT NULL,
            type TEXT,
            image_name TEXT,
            image_file TEXT UNIQUE,
            image_type TEXT,
            idempotency_key TEXT NOT NULL UNIQUE,
            step TEXT NOT NULL DEFAULT 'unposted' CHECK (step IN ('unposted', 'posting', 'posted')),
            location TEXT,                         -- the address to send the media to, once the server has named it
            tus INTEGER,                           -- whether that address supports tus; NULL until known
            held INTEGER NOT NULL DEFAULT 0,       -- number of bytes that the server reports to have
            suspended INTEGER NOT NULL DEFAULT 0,
            created INTEGER NOT NULL,
            error TEXT
        ) STRICT;
        """
}
