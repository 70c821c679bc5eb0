extension Schema {
    /// Columns for the origin of a show's feed address, and for its address spaces. For a show of an older library, the
    /// spaces are unknown until its feed is fetched again, and the address of a subscribed show is assumed to have been
    /// entered by a person.
    static let access = """
        ALTER TABLE podcast ADD COLUMN given_url TEXT;   -- NULL where a catalogue or a server named it
        ALTER TABLE podcast ADD COLUMN reach INTEGER;    -- AddressSpace: the most private that the feed may be in
        ALTER TABLE podcast ADD COLUMN space INTEGER;    -- AddressSpace: what the feed was last fetched from
        UPDATE podcast SET given_url = url WHERE ephemeral = 0;
        """
}
