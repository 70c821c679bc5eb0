import PodcastProtocol
import TestSupport
import Transfers

@testable import PodcastFilesystem
@testable import PodcastService

// The random actions of persons and of players, which the tracker has to follow.
extension PlayerWorld {
    /// Performs a random action, and lets some time pass.
    mutating func step() {
        let index = Int.random(in: 0..<players.count, using: &random)
        if let hostile, random.chance(15) { attack(hostile) }
        switch Int.random(in: 0..<100, using: &random) {
        case _ where !players[index].isPresent: join(players[index].id)
        case _ where players[index].file == nil: load(index)
        case 0..<14: load(index)
        case 14..<32: toggle(index)
        case 32..<46: seek(index, to: anyPosition(index))
        case 46..<54: setRate(index, random.pick(0.5, 1, 1.25, 2, 3))
        case 54..<58: stop(index)
        case 58..<62: leave(index)
        case 62..<66: holdKey(index)
        case 66..<72: stall(index)
        case 72..<78: sleep(.random(in: 1_000...36_000_000, using: &random))
        case 78..<81: restartDaemon()
        case 81..<83: loseBus()
        case 83..<86:
            let file = Int.random(in: 0..<Self.episodes, using: &random)
            let isPlayed = random.chance(50)
            mark(file, isPlayed, position: isPlayed ? nil : .random(in: 0..<lengths[file], using: &random))
        default: break
        }
        advance(
            random.chance(40) ? .random(in: 200...3_000, using: &random) : .random(in: 3_000...90_000, using: &random))
    }

    private mutating func anyPosition(_ index: Int) -> Double {
        let length = players[index].length
        return random.pick(0, .random(in: 0...length, using: &random), max(0, length - 20), length)
    }

    /// Loads a file, and starts at its beginning or elsewhere.
    private mutating func load(_ index: Int) {
        finish(index)
        let file = Int.random(in: 0...Self.episodes, using: &random)
        players[index].file = file
        // The path may also be that of a link in a view.
        players[index].url = random.pick("file:///mnt/Show/\(file)", "file:///mnt/Latest/\(file)")
        players[index].length = lengths[file]
        players[index].status = random.chance(90) ? .playing : .paused
        let middle = Double.random(in: 0..<lengths[file], using: &random)
        begin(index, at: random.pick(0, 0, 0, 0, 2, middle))
        // If another player has the same episode loaded, exempt the episode's stored position from the checks for
        // longer.
        if players.count(where: { $0.file == file && $0.hasFile }) > 1 { exempt(file, 22_000) }
        let opens = file < Self.episodes
        let isOpenedFirst = random.chance(70)
        if opens, isOpenedFirst { send(.opened(EpisodeID(Int64(file)))) }
        let player = players[index]
        let hasPosition = random.chance(20)
        send(.changed(player.id, player.properties(at: now, withPosition: hasPosition)))
        if opens, !isOpenedFirst { send(.opened(EpisodeID(Int64(file)))) }
        // Some players resume by themselves.
        if random.chance(25) {
            advance(.random(in: 20...1_500, using: &random))
            if players[index].hasFile { seek(index, to: .random(in: 0..<players[index].length, using: &random)) }
        }
    }

    /// Begins playback of the loaded file.
    private mutating func begin(_ index: Int, at position: Double) {
        count("starts")
        note("\(players[index].name) starts \(players[index].file ?? -1) at \(position), \(players[index].status)")
        players[index].start(at: position, now: now)
        if let file = players[index].file { exempt(file, 12_000, by: index) }
    }

    /// Exempts the loaded file's stored position from the checks for a time, because the player ends its playback.
    private mutating func finish(_ index: Int) {
        if let file = players[index].file { exempt(file, 11_000, by: index) }
    }

    mutating func seek(_ index: Int, to position: Double, isOwn: Bool = true) {
        guard let file = players[index].file, players[index].hasFile else { return }
        // Always announce a seek during a pause, since the tracker could not detect it before playback continues.
        let isAnnounced = players[index].announcesSeeks || players[index].status == .paused
        note("\(players[index].name) seeks to \(position), \(isOwn), announced \(isAnnounced)")
        let isNear = abs(players[index].position(at: now) - min(position, players[index].length)) < 1
        players[index].seek(to: position, at: now)
        if isOwn { players[index].seeked = now }
        let others = players.count { $0.file == file && $0.hasFile } > 1
        exempt(file, isAnnounced && !others ? 1_300 : 11_000, by: isNear ? nil : index)
        if isAnnounced { send(.seeked(players[index].id, players[index].position(at: now))) }
    }

    private mutating func toggle(_ index: Int) {
        switch players[index].status {
        case .playing: players[index].status = .paused
        case .paused: players[index].status = .playing
        case .stopped:
            players[index].status = .playing
            begin(index, at: 0)
            return announce(index)
        }
        players[index].setSpeed(players[index].status == .playing ? players[index].rate : 0, at: now)
        if let file = players[index].file {
            exempt(file, players.count { $0.file == file && $0.hasFile } > 1 ? 11_000 : 500, by: index)
        }
        announce(index)
    }

    private mutating func announce(_ index: Int) {
        note("\(players[index].name) is \(players[index].status)")
        send(.changed(players[index].id, PlayerProperties(status: players[index].status)))
    }

    private mutating func setRate(_ index: Int, _ rate: Double) {
        note("\(players[index].name) rate \(rate)")
        players[index].rate = rate
        if players[index].status == .playing { players[index].setSpeed(rate, at: now) }
        send(.changed(players[index].id, PlayerProperties(rate: rate)))
    }

    private mutating func stop(_ index: Int) {
        finish(index)
        players[index].status = .stopped
        players[index].seek(to: 0, at: now)
        announce(index)
    }

    private mutating func leave(_ index: Int) {
        finish(index)
        players[index].isPresent = false
        players[index].status = .stopped
        players[index].file = nil
        send(.disappeared(players[index].id))
    }

    private mutating func holdKey(_ index: Int) {
        for _ in 0..<Int.random(in: 5...80, using: &random) {
            seek(index, to: players[index].position(at: now) + 5)
            advance(30)
        }
        // The tracker drops the signals of a long burst, and reads the player's properties some seconds later.
        if let file = players[index].file { exempt(file, 11_000) }
    }

    /// Lets the playing player wait for bytes, so that its position does not advance for a time.
    private mutating func stall(_ index: Int) {
        guard players[index].isPlaying, let file = players[index].file else { return }
        note("\(players[index].name) stalls")
        players[index].setSpeed(0, at: now)
        // Until its next reading, the tracker assumes that the player plays.
        exempt(file, 11_000)
        advance(.random(in: 500...9_000, using: &random))
        if players[index].isPlaying, players[index].speed == 0 { players[index].setSpeed(players[index].rate, at: now) }
        exempt(file, 11_000)
    }

    /// Performs what a player does at the end of a file: loads a random file, seeks to the beginning, or stops.
    mutating func reachEnd(_ index: Int) {
        count("ends")
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<3: load(index)
        case 3..<5: seek(index, to: 0)
        default: stop(index)
        }
    }

    private mutating func attack(_ hostile: PlayerID) {
        let file = Int.random(in: 0..<Self.episodes, using: &random)
        claim(file)
        for _ in 0..<Int.random(in: 1...150, using: &random) {
            switch Int.random(in: 0..<6, using: &random) {
            case 0: send(.seeked(hostile, hostileNumber()))
            case 1:
                let url = random.pick("file:///mnt/Show/\(file)", "", "file:///etc/passwd", "http://x/\(file)")
                let id: String? = random.pick(nil, "/t", "/1", "/2")
                let track = PlayerTrack(url: url, id: id, length: hostileNumber())
                send(.changed(hostile, PlayerProperties(track: track, status: random.pick(nil, .playing, .stopped))))
            case 2: send(.changed(hostile, PlayerProperties(rate: hostileNumber(), position: hostileNumber())))
            case 3: send(.answered(hostile, session: Int.random(in: -1...9, using: &random), resume: hostileNumber()))
            case 4: send(.located(hostile, url: "file:///mnt/Show/\(file)", EpisodeID(Int64(file))))
            default: send(.position(hostile, hostileNumber()))
            }
        }
    }

}
