import PodcastProtocol

@testable import PodcastFilesystem
@testable import PodcastService

/// The true state of a player, and its behavior on D-Bus (MPRIS). Times are in milliseconds of a clock that stops while
/// the machine sleeps. Positions are in seconds.
struct SimulatedPlayer {
    /// Playback at constant speed from the time `begin`; speed 0 while the player is paused or waits for bytes.
    private struct Piece {
        var begin: Int
        var position: Double
        var speed: Double
    }

    let id: PlayerID
    let name: String
    let process: Int32
    /// Whether it sends `Seeked`.
    let announcesSeeks: Bool
    /// Whether it obeys `SetPosition`.
    let obeys: Bool
    /// Whether it announces the length of a track.
    let knowsLength: Bool
    var isPresent = false
    /// The number of the loaded file.
    var file: Int?
    var url = ""
    var length: Double = 0
    var status = PlayerStatus.stopped
    var rate: Double = 1
    /// The number of starts: loads, and playback after a stop.
    var starts = 0
    /// The value of `starts` when podfs last asked the player to seek.
    var askedStart = 0
    /// Whether the episode was marked as played when the player's last start was reported.
    var wasPlayed = false
    /// Whether the last start was in the first 5 s of the episode. After such a start, podfs does not overwrite the
    /// stored position until the player has played for some time.
    var isTentative = false
    /// The time of the player's last seek that podfs did not request.
    var seeked = 0
    private var pieces: [Piece] = []
    private(set) var listened: Double = 0

    init(number: Int, announcesSeeks: Bool, obeys: Bool, knowsLength: Bool) {
        id = PlayerID(":1.\(number)")
        name = "player\(number)"
        process = Int32(100 + number)
        self.announcesSeeks = announcesSeeks
        self.obeys = obeys
        self.knowsLength = knowsLength
    }

    var isPlaying: Bool { isPresent && status == .playing }
    var hasFile: Bool { isPresent && status != .stopped && file != nil }
    var speed: Double { pieces.last?.speed ?? 0 }

    func position(at now: Int) -> Double {
        guard let piece = pieces.last(where: { $0.begin <= now }) ?? pieces.first else { return 0 }
        return min(length, piece.position + Double(max(0, now - piece.begin)) / 1_000 * piece.speed)
    }

    /// The time at which it reaches the end of its file; `nil` while it does not play.
    var end: Int? {
        guard isPlaying, let piece = pieces.last, piece.speed > 0 else { return nil }
        return piece.begin + Int(((length - piece.position) / piece.speed * 1_000).rounded(.up))
    }

    /// Continues at the current position with another speed.
    mutating func setSpeed(_ speed: Double, at now: Int) {
        let position = position(at: now)
        if let piece = pieces.last { listened += max(0, position - piece.position) }
        pieces.append(Piece(begin: now, position: position, speed: speed))
        if pieces.count > 50 { pieces.removeFirst(10) }
    }

    /// Continues at another position. The tracker ignores a seek of less than a second, so the positions before such a
    /// seek remain valid.
    mutating func seek(to position: Double, at now: Int) {
        let target = min(max(0, position), length)
        let current = self.position(at: now)
        if let piece = pieces.last { listened += max(0, current - piece.position) }
        if position < 5 { listened = 0 }
        if abs(current - target) >= 1 { pieces = [] }
        pieces.append(Piece(begin: now, position: target, speed: status == .playing ? rate : 0))
    }

    mutating func start(at position: Double, now: Int) {
        starts += 1
        isTentative = false
        seek(to: position, at: now)
        listened = 0
    }

    /// Returns how many seconds of the file were played since the start, or since a later seek into the first 5 s.
    func listened(at now: Int) -> Double { listened + max(0, position(at: now) - (pieces.last?.position ?? 0)) }

    var track: PlayerTrack {
        PlayerTrack(url: url, id: "/track/\(starts)", length: knowsLength ? length : nil)
    }

    func properties(at now: Int, withPosition: Bool) -> PlayerProperties {
        PlayerProperties(
            track: file == nil ? nil : track, status: status, rate: rate,
            position: withPosition ? position(at: now) : nil, canSeek: true)
    }
}
