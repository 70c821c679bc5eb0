extension Schema {
    /// The alternates of episodes: further encodings, each with a file of its own in the folder `.alternates`.
    ///
    /// An alternate has two rows. The row in `episode` gives the alternate an episode id, generations and renditions
    /// like those of any episode; the row in `alternate` names the episode to which the alternate belongs. In the row
    /// in `episode`, `name` is the path below the show's folder, and `buried` is 2, so that no listing of episodes
    /// contains the alternate. Once the feed no longer offers the alternate, `buried` is 1, as in every tombstone (the
    /// row of a removed episode).
    static let alternates = """
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
        """

    /// The columns for the images of chapters, and for the number of a feed's items that are not episodes.
    static let chapterImages = """
        ALTER TABLE attachment ADD COLUMN image TEXT;
        ALTER TABLE podcast ADD COLUMN unplayable INTEGER;
        """
}
