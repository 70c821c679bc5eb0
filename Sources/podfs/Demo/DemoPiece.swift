/// A short piece of music: what is to be heard, and when. Worked out from a few choices and a seed, always the same.
struct DemoPiece: Sendable {
    /// The steps of a scale, in semitones above its root.
    enum Mode: Sendable {
        case major, minor, dorian, lydian

        var steps: [Int] {
            switch self {
            case .major: [0, 2, 4, 5, 7, 9, 11]
            case .minor: [0, 2, 3, 5, 7, 8, 10]
            case .dorian: [0, 2, 3, 5, 7, 9, 10]
            case .lydian: [0, 2, 4, 6, 7, 9, 11]
            }
        }
    }

    struct Note: Sendable {
        /// As in MIDI: 69 is the A of 440 Hz.
        var pitch: Int
        /// Beats from the beginning.
        var start: Double
        /// Beats.
        var length: Double
        /// 0 to 1.
        var loudness: Double
        var voice: DemoVoice
    }

    let seed: UInt64
    /// The root of the key, as in MIDI: 60 is middle C.
    let root: Int
    let mode: Mode
    /// The scale degree on which the chord of each bar stands, from 0; repeated to the end.
    let progression: [Int]
    let beatsPerMinute: Double
    let bars: Int
    let melodyVoice: DemoVoice

    static let beatsPerBar = 4

    /// The last notes ring for so long, in seconds.
    private static let tail = 3.0

    /// Whole seconds, so that a feed can state the duration exactly.
    var seconds: Int {
        Int((Double(bars * Self.beatsPerBar) * secondsPerBeat + Self.tail).rounded(.up))
    }

    var secondsPerBeat: Double { 60 / beatsPerMinute }

    // MARK: Harmony

    private func degree(ofBar bar: Int) -> Int {
        // A piece comes home in its last bar.
        bar == bars - 1 ? 0 : progression[bar % progression.count]
    }

    /// The pitch of a degree of the scale, counted on through the octaves.
    private func pitch(_ degree: Int) -> Int {
        let octave = Int((Double(degree) / 7).rounded(.down))
        return root + 12 * octave + mode.steps[degree - 7 * octave]
    }

    /// The name of a bar's chord, such as `F♯ minor`.
    func chordName(ofBar bar: Int) -> String {
        let names = ["C", "C♯", "D", "E♭", "E", "F", "F♯", "G", "A♭", "A", "B♭", "B"]
        let degree = degree(ofBar: bar)
        let (third, fifth) = (pitch(degree + 2) - pitch(degree), pitch(degree + 4) - pitch(degree))
        let quality = fifth == 6 ? "diminished" : third == 3 ? "minor" : "major"
        return "\(names[pitch(degree) % 12]) \(quality)"
    }

    // MARK: Notes

    /// Lengths of a bar's melody notes, in beats.
    private static let rhythms: [[Double]] = [
        [1, 1, 2], [2, 1, 1], [1.5, 0.5, 1, 1], [0.5, 0.5, 1, 2], [1, 0.5, 0.5, 2], [3, 1], [1, 1, 1, 1],
    ]

    /// Everything that sounds: a soft chord and a bass under each bar, a melody over them.
    var notes: [Note] {
        var random = SplitMix64(state: seed)
        var notes: [Note] = []
        var position = 7
        for bar in 0..<bars {
            let start = Double(bar * Self.beatsPerBar)
            let chord = degree(ofBar: bar)
            let isLast = bar == bars - 1
            for (index, step) in [0, 2, 4].enumerated() {
                // Inversions keep the chords close together, as a pianist's hand would.
                let degree = chord + step > 6 ? chord + step - 7 : chord + step
                notes.append(
                    Note(
                        pitch: pitch(degree), start: start + 0.03 * Double(index), length: isLast ? 6 : 4,
                        loudness: 0.22, voice: .pad))
            }
            for beat in isLast ? [0.0] : [0.0, 2.5] {
                notes.append(
                    Note(
                        pitch: pitch(chord) - (pitch(chord) - root > 7 ? 24 : 12), start: start + beat, length: 1.5,
                        loudness: 0.34, voice: .bass))
            }
            if isLast {
                notes.append(
                    Note(pitch: pitch(7), start: start, length: 5, loudness: 0.5, voice: melodyVoice))
                break
            }
            // The first bar is left to the chords.
            if bar == 0 { continue }
            var beat = 0.0
            for length in Self.rhythms[random.below(Self.rhythms.count)] {
                position = next(after: position, chord: chord, isAccented: beat == 0, &random)
                let isRest = beat > 0 && random.below(8) == 0
                if !isRest {
                    notes.append(
                        Note(
                            pitch: pitch(position), start: start + beat, length: length * 0.95,
                            loudness: beat == 0 ? 0.5 : 0.42, voice: melodyVoice))
                }
                beat += length
            }
        }
        return notes
    }

    /// Steps more often than it leaps, stays within an octave and a half, and lands on the chord where a bar begins.
    private func next(after position: Int, chord: Int, isAccented: Bool, _ random: inout SplitMix64) -> Int {
        let moves = [-2, -1, -1, 1, 1, 2, 3]
        var next = position + moves[random.below(moves.count)]
        if next < 5 { next += 3 }
        if next > 14 { next -= 3 }
        guard isAccented else { return next }
        let tones = (0..<3).flatMap { octave in [0, 2, 4].map { chord % 7 + $0 + 7 * octave } }
        return tones.min { abs($0 - next) < abs($1 - next) } ?? next
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): small, and the same everywhere.
private struct SplitMix64 {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((z ^ (z >> 31)) % UInt64(bound))
    }
}
