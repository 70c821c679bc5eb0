/// The attributes of a start tag. Names and values are valid during the call that receives them.
struct FeedAttributes {
    struct Attribute {
        /// The qualified name as written.
        var name: FeedBytes
        /// The value with its references replaced.
        var value: FeedBytes
    }

    let list: UnsafeBufferPointer<Attribute>

    /// Returns the value of the first attribute with this qualified name, such as `url` or `xml:base`, ignoring case;
    /// `nil` if there is none.
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
