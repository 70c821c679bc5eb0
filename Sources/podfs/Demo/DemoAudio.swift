import Glibc

/// The sound of a demo episode: two alternating tones, as a WAV file (PCM, 16 bits, mono).
///
/// The size is known without rendering, and rendering is deterministic.
struct DemoAudio: Sendable, Hashable {
    /// The two frequencies, in hertz.
    let low: Int
    let high: Int
    /// The duration of the file in seconds; a whole number, so that a feed can state it exactly.
    let seconds: Int

    static let sampleRate = 22_050
    static let contentType = "audio/wav"
    /// The duration of one tone in seconds.
    static let toneDuration = 10

    private static let headerSize = 44
    private static let bytesPerSample = 2

    private var sampleCount: Int { seconds * Self.sampleRate }

    /// The size of the file in bytes.
    var size: Int { Self.headerSize + sampleCount * Self.bytesPerSample }

    /// The start of each tone in seconds, and its frequency.
    var tones: [(start: Int, frequency: Int)] {
        stride(from: 0, to: seconds, by: Self.toneDuration).map { ($0, $0 / Self.toneDuration % 2 == 0 ? low : high) }
    }

    /// Renders the file.
    func render() -> [UInt8] {
        var bytes = header()
        bytes.reserveCapacity(size)
        let rate = Double(Self.sampleRate)
        for (start, frequency) in tones {
            let length = min(Self.toneDuration, seconds - start) * Self.sampleRate
            for index in 0..<length {
                // Fading for half a second at both ends avoids clicks.
                let edge = min(1, Double(min(index, length - 1 - index)) / (0.5 * rate))
                let level = 0.5 * edge * sin(2 * .pi * Double(frequency) * Double(index) / rate)
                let sample = UInt16(bitPattern: Int16(level * Double(Int16.max)))
                bytes.append(UInt8(truncatingIfNeeded: sample))
                bytes.append(UInt8(truncatingIfNeeded: sample >> 8))
            }
        }
        return bytes
    }

    /// Returns the RIFF header, the format chunk, and the header of the data chunk (Multimedia Programming Interface
    /// and Data Specifications 1.0, IBM and Microsoft, 1991).
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
}
