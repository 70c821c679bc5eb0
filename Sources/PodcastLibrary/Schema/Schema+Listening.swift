extension Schema {
    /// The columns that players' reports fill.
    ///
    /// - `last_played`: when the episode was last listened to, on any device.
    /// - `started`, `total`: where the last stretch of listening began, and the duration according to the player, in
    ///   seconds; both are sent to the sync server. A state set by hand or by another device clears `started`; only a
    ///   played flag set by hand also clears `total`.
    static let listening = """
        ALTER TABLE episode ADD COLUMN last_played INTEGER;
        ALTER TABLE episode ADD COLUMN started REAL;
        ALTER TABLE episode ADD COLUMN total REAL;
        """
}
