import Glibc

/// How an instrument sounds: partials and how they fade.
enum DemoVoice: Sendable {
    case pad, bass, harp, bell, reed

    /// Frequency as a multiple of the fundamental, and strength.
    fileprivate var partials: [(ratio: Double, strength: Double)] {
        switch self {
        case .pad: [(1, 0.7), (2.003, 0.2), (3, 0.06)]
        case .bass: [(1, 0.8), (2, 0.25)]
        case .harp: [(1, 0.6), (2, 0.28), (3, 0.14), (4, 0.07)]
        // The hum, prime, tierce, quint and nominal of a bell, roughly.
        case .bell: [(0.5, 0.15), (1, 0.5), (1.2, 0.12), (2, 0.25), (2.76, 0.1)]
        case .reed: [(1, 0.5), (2, 0.12), (3, 0.2), (5, 0.06)]
        }
    }

    /// Seconds until a note is at its loudest.
    fileprivate var attack: Double {
        switch self {
        case .pad: 0.35
        case .bass: 0.02
        case .harp, .bell: 0.005
        case .reed: 0.06
        }
    }

    /// Seconds in which a held note falls to 1/e.
    fileprivate var decay: Double {
        switch self {
        case .pad: 6
        case .bass: 0.9
        case .harp: 0.7
        case .bell: 1.3
        case .reed: 3
        }
    }

    /// Seconds that a note rings on after its end.
    fileprivate var release: Double {
        switch self {
        case .pad: 0.8
        case .bass: 0.2
        case .harp, .bell: 1.2
        case .reed: 0.15
        }
    }
}

/// A piece as a WAV file: PCM, 16 bits, mono.
///
/// The size is known without rendering. Rendering takes some tenths of a second and gives the same bytes every time.
struct DemoAudio: Sendable {
    let piece: DemoPiece

    static let sampleRate = 22_050
    static let contentType = "audio/wav"

    private static let headerSize = 44
    private static let bytesPerSample = 2

    private var sampleCount: Int { piece.seconds * Self.sampleRate }

    /// Bytes of the whole file.
    var size: Int { Self.headerSize + sampleCount * Self.bytesPerSample }

    /// The file.
    func render() -> [UInt8] {
        let samples = mix()
        // 70 % of full scale: loud enough, and no player's resampling clips it.
        let peak = samples.reduce(Float(0.001)) { max($0, abs($1)) }
        let gain = 0.7 * Float(Int16.max) / peak
        var bytes = header()
        bytes.reserveCapacity(size)
        for sample in samples {
            let value = UInt16(bitPattern: Int16(sample * gain))
            bytes.append(UInt8(truncatingIfNeeded: value))
            bytes.append(UInt8(truncatingIfNeeded: value >> 8))
        }
        return bytes
    }

    /// RIFF header, format chunk, and the head of the data chunk (Multimedia Programming Interface and Data
    /// Specifications 1.0, IBM and Microsoft, 1991).
    private func header() -> [UInt8] {
        func number(_ value: Int, bytes: Int) -> [UInt8] {
            (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }
        let dataSize = size - Self.headerSize
        var header = Array("RIFF".utf8) + number(size - 8, bytes: 4) + Array("WAVEfmt ".utf8)
        header += number(16, bytes: 4)  // the size of the format chunk
        header += number(1, bytes: 2)  // PCM
        header += number(1, bytes: 2)  // channels
        header += number(Self.sampleRate, bytes: 4)
        header += number(Self.sampleRate * Self.bytesPerSample, bytes: 4)
        header += number(Self.bytesPerSample, bytes: 2)
        header += number(8 * Self.bytesPerSample, bytes: 2)
        return header + Array("data".utf8) + number(dataSize, bytes: 4)
    }

    // MARK: Sound

    private func mix() -> [Float] {
        [Float](unsafeUninitializedCapacity: sampleCount) { buffer, count in
            buffer.initialize(repeating: 0)
            count = sampleCount
            for note in piece.notes { add(note, to: buffer) }
            addEcho(to: buffer)
            fadeOut(buffer)
        }
    }

    private func add(_ note: DemoPiece.Note, to buffer: UnsafeMutableBufferPointer<Float>) {
        let rate = Double(Self.sampleRate)
        let voice = note.voice
        let first = Int(note.start * piece.secondsPerBeat * rate)
        let held = Int(note.length * piece.secondsPerBeat * rate)
        let length = min(held + Int(voice.release * rate), buffer.count - first)
        guard length > 0 else { return }
        let envelope = envelope(of: note, held: held, length: length)
        let frequency = 440 * pow(2, Double(note.pitch - 69) / 12)
        for partial in voice.partials where frequency * partial.ratio < rate * 0.45 {
            // A rotation by a fixed angle for each sample gives the sine without calling it.
            let angle = 2 * Double.pi * frequency * partial.ratio / rate
            let (turnSine, turnCosine) = (sin(angle), cos(angle))
            var (sine, cosine) = (0.0, partial.strength)
            for index in 0..<length {
                buffer[first + index] += Float(sine) * envelope[index]
                (sine, cosine) = (sine * turnCosine + cosine * turnSine, cosine * turnCosine - sine * turnSine)
            }
        }
    }

    private func envelope(of note: DemoPiece.Note, held: Int, length: Int) -> [Float] {
        let rate = Double(Self.sampleRate)
        let attack = max(1, note.voice.attack * rate)
        let fall = exp(-1 / (note.voice.decay * rate))
        // Down to a thousandth, -60 dB, at the end of the release, and straight to zero in the last 5 ms.
        let releaseFall = pow(0.001, 1 / max(1, note.voice.release * rate))
        let last = 0.005 * rate
        var level = note.loudness
        return (0..<length).map { index in
            level *= index < held ? fall : releaseFall
            let rise = min(1, Double(index) / attack)
            let end = min(1, Double(length - index) / last)
            return Float(level * rise * end)
        }
    }

    /// One echo that repeats and fades, three quarters of a beat behind.
    private func addEcho(to buffer: UnsafeMutableBufferPointer<Float>) {
        let delay = Int(0.75 * piece.secondsPerBeat * Double(Self.sampleRate))
        for index in stride(from: delay, to: buffer.count, by: 1) {
            buffer[index] += 0.25 * buffer[index - delay]
        }
    }

    /// The last second goes down to silence.
    private func fadeOut(_ buffer: UnsafeMutableBufferPointer<Float>) {
        let length = min(Self.sampleRate, buffer.count)
        for index in 0..<length {
            buffer[buffer.count - length + index] *= Float(length - 1 - index) / Float(length)
        }
    }
}
