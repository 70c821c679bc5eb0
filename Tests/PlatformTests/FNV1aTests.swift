import Platform
import Testing

/// Vectors from Noll's test_fnv.c, isthe.com/chongo/tech/comp/fnv.
@Test(
    arguments: [
        ("", 0x811C_9DC5, 0xCBF2_9CE4_8422_2325), ("a", 0xE40C_292C, 0xAF63_DC4C_8601_EC8C),
        ("foobar", 0xBF9C_F968, 0x8594_4171_F739_67E8),
    ] as [(String, UInt32, UInt64)])
func fnv1aMatchesThePublishedVectors(text: String, short: UInt32, long: UInt64) {
    #expect(FNV1a.hash32(text.utf8) == short)
    #expect(FNV1a.hash64(text.utf8) == long)
}
