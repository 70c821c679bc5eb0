/// FNV-1a, a hash that is the same in every process, unlike `Hasher`'s. It is not cryptographic, so anyone can
/// construct inputs with the same hash.
///
/// Source: Fowler, Noll, Vo, Eastlake, "The FNV Non-Cryptographic Hash Algorithm" (draft-eastlake-fnv).
package enum FNV1a {
    /// The 32-bit hash of an empty sequence (the offset basis).
    @inlinable package static var empty32: UInt32 { 0x811C_9DC5 }
    /// The 64-bit hash of an empty sequence (the offset basis).
    @inlinable package static var empty64: UInt64 { 0xCBF2_9CE4_8422_2325 }

    /// Returns the 32-bit hash of a sequence followed by `byte`; `hash` is the hash of the sequence.
    @inlinable package static func hash(_ hash: UInt32, adding byte: UInt8) -> UInt32 {
        (hash ^ UInt32(byte)) &* 0x0100_0193
    }

    /// Returns the 64-bit hash of a sequence followed by `byte`; `hash` is the hash of the sequence.
    @inlinable package static func hash(_ hash: UInt64, adding byte: UInt8) -> UInt64 {
        (hash ^ UInt64(byte)) &* 0x100_0000_01B3
    }

    /// Returns the 32-bit hash of `bytes`.
    package static func hash32(_ bytes: some Sequence<UInt8>) -> UInt32 {
        bytes.reduce(empty32) { hash($0, adding: $1) }
    }

    /// Returns the 64-bit hash of `bytes`.
    package static func hash64(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(empty64) { hash($0, adding: $1) }
    }
}
