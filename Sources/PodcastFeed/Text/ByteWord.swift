/// Eight bytes that are looked at together (Sean Anderson, “Bit Twiddling Hacks”: `hasless`, `haszero`).
///
/// The answers are numbers that are 0 when there is no such byte, so that several questions cost one branch.
struct ByteWord {
    private let bits: UInt64

    static let size = 8
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits = ones &* 0x80

    /// - Parameter start: Of any alignment; eight bytes are read.
    @inline(__always)
    init(at start: UnsafePointer<UInt8>) {
        bits = UnsafeRawPointer(start).loadUnaligned(as: UInt64.self)
    }

    /// Bytes beyond ASCII.
    @inline(__always)
    var beyondASCII: UInt64 { bits & Self.highBits }

    /// Bytes below a limit of at most 0x80.
    @inline(__always)
    func below(_ limit: UInt8) -> UInt64 {
        (bits &- Self.ones &* UInt64(limit)) & ~bits & Self.highBits
    }

    /// Bytes that are this one.
    @inline(__always)
    func equal(_ byte: UInt8) -> UInt64 {
        let others = bits ^ Self.ones &* UInt64(byte)
        return (others &- Self.ones) & ~others & Self.highBits
    }
}
