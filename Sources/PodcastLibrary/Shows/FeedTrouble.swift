import GRDB
package import PodcastProtocol

/// The reason why a feed may never return.
package enum FeedTrouble: String, Sendable, CaseIterable {
    /// The server says that the feed is gone.
    case gone
    /// The server requires credentials, or rejects them.
    case unauthorised
    /// The feed lists no episode any more.
    case empty
    /// The server's certificate is not valid.
    case certificate
    /// The server's name has no address any more, or no server accepts a connection there.
    case unreachable
}

/// The meaning of a refresh's result for the future of a feed.
package enum FeedSign: Sendable, Equatable {
    /// The feed lists episodes.
    case healthy
    /// The feed has not changed.
    case unchanged
    /// A failure that says nothing about the future, such as a timeout or a 503.
    case failed
    /// A sign of trouble, and the time in seconds that it must last before it is announced.
    case trouble(FeedTrouble, patience: Int64)

    // A 404 or a bad certificate may be a mistake, or come from the login page of a network. A server may be down for
    // some days, and an empty feed often is a mistake.

    /// The feed lists no episode, but the library has some.
    package static let emptied = trouble(.empty, patience: 30 * 86_400)
    /// 410, permanently.
    package static let ended = trouble(.gone, patience: 0)
    /// 404, or a 410 that may not be meant for the feed.
    package static let missing = trouble(.gone, patience: 86_400)
    /// 401 or 403.
    package static let refused = trouble(.unauthorised, patience: 0)
    /// The certificate was rejected.
    package static let untrusted = trouble(.certificate, patience: 86_400)
    /// No connection to the server, although there is one to others.
    package static let unreachable = trouble(.unreachable, patience: 7 * 86_400)
}

/// The trouble of a show's feed, of which a person is told once. Pure.
package struct FeedTroubleRecord: Sendable, Equatable {
    /// The current trouble; `nil` for a healthy feed.
    package var trouble: FeedTrouble?
    /// When to announce it, in seconds since 1970; `nil` if that was done, or without trouble.
    package var due: Int64?

    /// The trouble that was announced and has not ended.
    package var announced: FeedTrouble? { due == nil ? trouble : nil }

    /// Records the result of a refresh.
    package mutating func observe(_ sign: FeedSign, at now: Int64) {
        switch sign {
        case .failed: break
        case .unchanged where trouble == .empty: break
        // A feed that was gone when its server was last reached is still gone.
        case .trouble(.unreachable, _) where trouble != nil && trouble != .unreachable: break
        case .healthy, .unchanged: self = Self()
        case .trouble(let found, let patience):
            if found != trouble {
                self = Self(trouble: found, due: now + patience)
            } else if let due {
                // Also ends a wait that began while the clock was ahead.
                self.due = min(due, now + patience)
            }
        }
    }

    /// Returns the trouble if it is due, and records that it is announced.
    package mutating func announce(at now: Int64) -> FeedTrouble? {
        guard let due, due <= now else { return nil }
        self.due = nil
        return trouble
    }
}

/// The episodes of a show of which there is no complete copy here.
package struct UnsavedEpisodes: Sendable, Equatable {
    package var count = 0
    /// Their size in bytes, as far as it is known or can be estimated.
    package var bytes: Int64 = 0
}

extension Library {
    /// Returns the troubles that are due to be announced, and records that they are. `refreshFailed` returns those of
    /// servers that cannot be reached.
    package func announceTroubles(now: Int64) throws -> [(show: ShowID, trouble: FeedTrouble)] {
        let isDue = "trouble <> 'unreachable' AND trouble_due <= ? AND ephemeral = 0"
        let due = try query { db in try Self.troubles(db, where: isDue, [now]) }
        if due.isEmpty { return [] }
        return try write { db in
            try due.compactMap { show, trouble in
                var record = trouble
                let announced = record.announce(at: now)
                try Self.set(record, of: show, now: now, db)
                return announced.map { (show, $0) }
            }
        }
    }

    /// Returns the episodes of a show of which there is no complete copy here.
    package func unsavedEpisodes(of podcast: ShowID) throws -> UnsavedEpisodes {
        // Also those that are not served from the archive while its folder is offline.
        let archived: Set<EpisodeID> = try Set(
            values(
                """
                SELECT a.episode FROM episode e CROSS JOIN archived a ON a.episode = e.id
                WHERE e.podcast = ? AND a.defect IS NULL
                """, [podcast]))
        return try entries(of: podcast).reduce(into: UnsavedEpisodes()) { unsaved, entry in
            guard !entry.complete, !archived.contains(entry.id), !StreamFile.isStream(entry.name) else { return }
            unsaved.count += 1
            if entry.sizeSource != .unknown { unsaved.bytes += entry.size }
        }
    }

    /// Returns the troubles of the feeds that meet a condition.
    static func troubles(
        _ db: Database, where condition: String = "1", _ arguments: StatementArguments = []
    ) throws -> [(ShowID, FeedTroubleRecord)] {
        try Row.fetchCursor(
            db, "SELECT id, trouble, trouble_due FROM podcast WHERE trouble IS NOT NULL AND \(condition)", arguments
        ).mapAll { ($0[0], FeedTroubleRecord($0, from: 1)) }
    }

    static func set(_ record: FeedTroubleRecord, of podcast: ShowID, now: Int64, _ db: Database) throws {
        try db.run(
            "UPDATE podcast SET trouble = ?, trouble_due = ?, changed = ? WHERE id = ?",
            [record.trouble?.rawValue, record.due, now, podcast])
    }
}

extension FeedTroubleRecord {
    /// - Parameter index: The column `trouble`, which `trouble_due` follows.
    init(_ row: Row, from index: Int) {
        trouble = (row[index] as String?).flatMap(FeedTrouble.init)
        due = trouble.flatMap { _ in row[index + 1] }
    }
}
