/// Eight bytes examined together (Sean Anderson, “Bit Twiddling Hacks”: `hasless`, `haszero`).
///
/// Each test returns 0 if no byte matches, so that the results of several tests can be combined for one branch.
struct ByteWord {
    private let bits: UInt64

    static let size = 8
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits = ones &* 0x80

    /// - Parameter start: The address of eight bytes, of any alignment.
    @inline(__always)
    init(at start: UnsafePointer<UInt8>) { bits = UnsafeRawPointer(start).loadUnaligned(as: UInt64.self) }

    /// Nonzero if there are non-ASCII bytes.
    @inline(__always)
    var beyondASCII: UInt64 { bits & Self.highBits }

    /// Nonzero if there are bytes below a limit of at most 0x80.
    @inline(__always)
    func below(_ limit: UInt8) -> UInt64 { (bits &- Self.ones &* UInt64(limit)) & ~bits & Self.highBits }

    /// Nonzero if there are bytes with this value.
    @inline(__always)
    func equal(_ byte: UInt8) -> UInt64 {
        let others = bits ^ Self.ones &* UInt64(byte)
        return (others &- Self.ones) & ~others & Self.highBits
    }
}
