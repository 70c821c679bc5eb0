internal import Platform
internal import PodcastProtocol
internal import Transfers

extension PlayerTracker {
    /// A pending request to the player to seek to the stored position. It is sent at most once.
    struct Resume: Sendable {
        /// The position in seconds to seek to.
        var target: Double
        /// The time from which the request is sent even if the player does not seem to play yet. If the player does not
        /// answer a reading of its position after this time, the tracker drops the request to seek.
        var until: Instant
    }

    /// A player's playback of one episode.
    struct Session: Sendable {
        let number: Int
        let episode: EpisodeID
        /// Whether `paused` has been reported. Reset when the tracker processes a reading while the player plays.
        var isPaused = false
        var resume: Resume?
        var lastSeek: Instant?
        /// The time at which to report a seek that came within `seekInterval` of another one; `nil` if there is none.
        var seekDue: Instant?
        /// The time of the last report whose position the daemon writes to the library; see `ListeningRules.isWritten`.
        var lastWriteDue: Instant?
    }

    /// A player on the bus.
    struct Player: Sendable {
        let name: String
        let process: Int32?
        var track = PlayerTrack()
        var status = PlayerStatus.stopped
        var rate: Double = 1
        var canSeek = true
        /// The position in seconds at the time `measured`; `nil` if it has to be read.
        var position: Double? { didSet { if position == nil { reading = nil } } }
        var measured = Instant.start
        /// The last position that the player itself has stated, in seconds. `position` may be an estimate.
        var reading: Double?
        /// The episode of the track's URL.
        var episode: EpisodeID?
        var session: Session?
        /// The time of the next reading of the position; `nil` if none is due.
        var nextReading: Instant?
        var budget = SignalBudget()

        var deadline: Instant? { [nextReading, session?.seekDue, budget.until].compactMap(\.self).min() }

        /// Whether `other` is the same player under another name. VLC has two connections to the bus, with the names
        /// `vlc` and `vlc.instancePID`.
        func isAlias(of other: Player) -> Bool {
            process != nil && process == other.process && program.elementsEqual(other.program)
        }

        /// The name up to `.instance`, if it contains that.
        private var program: Substring { name.firstRange(of: ".instance").map { name[..<$0.lowerBound] } ?? name[...] }

        /// Returns the position in seconds, extrapolated from the last one. Valid only if a position is known.
        func estimate(at now: Instant) -> Double {
            let begin = position ?? 0
            guard status == .playing else { return begin }
            return min(begin + max(0, seconds(now - measured)) * rate, max(begin, track.length ?? .infinity))
        }

        mutating func rebase(to position: Double, isReading: Bool, at now: Instant) {
            self.position = position
            measured = now
            if isReading { reading = position }
        }
    }

    // MARK: Announcements

    mutating func change(_ id: PlayerID, _ player: inout Player, _ properties: PlayerProperties, at now: Instant) {
        player.canSeek = properties.canSeek ?? player.canSeek
        if let track = properties.track {
            if track.isSame(as: player.track) {
                player.track = track
            } else {
                endSession(id, &player, at: now)
                player.track = track
                player.episode = nil
                player.position = nil
                if let url = track.url { effects.append(.locate(id, url: url, process: player.process)) }
            }
        }
        if let rate = properties.rate, rate.isFinite, (0...100).contains(rate) {
            if player.position != nil { player.rebase(to: player.estimate(at: now), isReading: false, at: now) }
            player.rate = rate
        }
        if let status = properties.status, status != player.status { change(id, &player, to: status, at: now) }
        if let position = properties.position { measure(id, &player, position, at: now) }
    }

    private mutating func change(_ id: PlayerID, _ player: inout Player, to status: PlayerStatus, at now: Instant) {
        let former = player.status
        if status == .stopped {
            // The player's own position is 0 now: report the estimate, before the status changes.
            endSession(id, &player, at: now)
            player.status = status
            player.position = nil
            return
        }
        if player.position != nil { player.rebase(to: player.estimate(at: now), isReading: false, at: now) }
        player.status = status
        if player.session == nil {
            if former == .stopped { player.position = nil }
            beginSession(id, &player, at: now)
        } else {
            // `measure` reports the new position.
            effects.append(.readPosition(id))
        }
    }

    /// Processes an announced seek.
    mutating func seek(_ id: PlayerID, _ player: inout Player, to position: Double, at now: Instant) {
        let estimate = player.estimate(at: now)
        let isKnown = player.position != nil
        player.rebase(to: position, isReading: true, at: now)
        guard player.session != nil else { return beginSession(id, &player, at: now) }
        // Some players announce a seek for each start of playback.
        if isKnown, abs(position - estimate) < 1 { return }
        if position >= ListeningRules.beginning { player.session?.resume = nil }
        if let last = player.session?.lastSeek, now - last < Self.seekInterval {
            player.session?.seekDue = last + Self.seekInterval
            return
        }
        if player.status == .playing { report(.playing, estimate, id, &player, at: now) }
        report(.seeked, position, id, &player, at: now)
        player.session?.lastSeek = now
    }

    // MARK: Readings

    /// Processes a reading of the position; `nil` if the player did not answer.
    mutating func measure(_ id: PlayerID, _ player: inout Player, _ position: Double?, at now: Instant) {
        guard player.session != nil else {
            guard player.status != .stopped else { return }
            guard let position else {
                // Some players do not answer while they load a file.
                if player.episode != nil { player.nextReading = now + Self.startInterval }
                return
            }
            player.rebase(to: position, isReading: true, at: now)
            return beginSession(id, &player, at: now)
        }
        let estimate = player.estimate(at: now)
        let isSeek = position.map { hasSeeked(to: $0, player, expected: estimate) } ?? false
        if let position { player.rebase(to: position, isReading: true, at: now) }
        if isSeek {
            if player.estimate(at: now) >= ListeningRules.beginning { player.session?.resume = nil }
            report(.seeked, player.estimate(at: now), id, &player, at: now)
        }
        if resume(id, &player, isRead: position != nil, at: now) { return }
        if player.status == .paused {
            if player.session?.isPaused != true { pause(id, &player, at: now) }
            player.nextReading = nil
            return
        }
        // Report nothing if the player has not answered: perhaps it is not playing either.
        if position != nil, !isSeek { report(.playing, player.estimate(at: now), id, &player, at: now) }
        player.session?.isPaused = false
        // Read again when the daemon's next write is due. During steady playback the stored position is therefore about
        // one interval old at most.
        let due = (player.session?.lastWriteDue ?? now) + Self.readInterval
        player.nextReading = due > now ? due : now + Self.readInterval
    }

    /// Whether a reading shows that the player has sought: the position is more than two seconds before the last
    /// reading, or more than two seconds of playback beyond the estimate. A position between the last reading and the
    /// estimate is no seek: the player had to wait for bytes.
    private func hasSeeked(to position: Double, _ player: Player, expected: Double) -> Bool {
        guard let last = player.reading else { return false }
        // A player that was paused at the last reading, and is still paused, has not played in between.
        if player.status == .paused, player.session?.isPaused == true { return abs(position - last) >= 1 }
        return position < last - 2 || position > expected + 2 * max(1, player.rate)
    }

    /// Asks a player that has started from the beginning to seek to the stored position, as soon as it plays or is
    /// paused. Does not ask a player that does not answer: it may have resumed by itself.
    ///
    /// - Returns: Whether this reading served only to resume the player. The caller then does not report it.
    private mutating func resume(_ id: PlayerID, _ player: inout Player, isRead: Bool, at now: Instant) -> Bool {
        guard let resume = player.session?.resume else { return false }
        let position = player.estimate(at: now)
        // Drop the request if the player has resumed by itself, or has not answered by `resume.until`.
        guard position < ListeningRules.beginning + seconds(Self.resumeTimeout) * max(1, player.rate),
            isRead || now < resume.until
        else {
            player.session?.resume = nil
            return false
        }
        guard isRead, player.status == .paused || position > 0.05 || now >= resume.until else {
            player.nextReading = now + Self.resumeInterval
            return true
        }
        player.session?.resume = nil
        effects.append(.seek(id, track: player.track.id, to: resume.target, from: position))
        // Not every player announces a seek that it was asked for.
        player.nextReading = now + .seconds(1)
        return true
    }
}
