extension Schema {
    /// Who named a show's feed, and where it is. Of shows from before nothing is known until their feeds are fetched again;
    /// their addresses are taken to be those that a person gave.
    static let access = """
        ALTER TABLE podcast ADD COLUMN given_url TEXT;   -- NULL where a catalogue or a server named it
        ALTER TABLE podcast ADD COLUMN reach INTEGER;    -- AddressSpace: the most private that the feed may be in
        ALTER TABLE podcast ADD COLUMN space INTEGER;    -- AddressSpace: what the feed was last fetched from
        UPDATE podcast SET given_url = url WHERE ephemeral = 0;
        """
}
