/// The attributes of a start tag. They and their values are valid during the call that hands them over.
struct FeedAttributes {
    struct Attribute {
        /// Qualified, as written.
        var name: FeedBytes
        /// With its references replaced.
        var value: FeedBytes
    }

    let list: UnsafeBufferPointer<Attribute>

    /// The value of an attribute by its qualified name, such as `url` or `xml:base`; of two the first. Names are
    /// compared without regard to case.
    func value(_ name: StaticString) -> FeedBytes? {
        for attribute in list where Self.equal(attribute.name, name) { return attribute.value }
        return nil
    }

    private static func equal(_ name: FeedBytes, _ wanted: StaticString) -> Bool {
        guard name.count == wanted.utf8CodeUnitCount else { return false }
        let bytes = wanted.utf8Start
        for index in 0..<name.count {
            let (one, other) = (name[index], bytes[index])
            guard one == other || (one ^ other == 0x20 && one.isLetter) else { return false }
        }
        return true
    }
}
