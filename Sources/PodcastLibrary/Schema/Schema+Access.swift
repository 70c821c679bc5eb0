extension Schema {
    /// Columns for the origin of a show's feed address, and for the address spaces of the feed (`AddressSpace`: the
    /// internet, the local network or this computer). In an older library, the spaces of a show are unknown until its
    /// feed is fetched again. The migration assumes that a person entered the address of every subscribed show.
    static let access = """
        ALTER TABLE podcast ADD COLUMN given_url TEXT;   -- NULL where a catalogue or a server named it
        ALTER TABLE podcast ADD COLUMN reach INTEGER;    -- AddressSpace: the most private that the feed may be in
        ALTER TABLE podcast ADD COLUMN space INTEGER;    -- AddressSpace: what the feed was last fetched from
        UPDATE podcast SET given_url = url WHERE ephemeral = 0;
        """
}
