internal import Platform

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

    /// Returns an attribute as a MIME type without parameters, in lower case.
    func type(_ name: StaticString) -> String? { value(name).flatMap(MIMEType.essence) }

    func flag(_ name: StaticString) -> Bool? { value(name).flatMap { FeedValues.boolean($0.trimmed) } }

    func wholeNumber(_ name: StaticString) -> Int? { value(name).flatMap { FeedValues.wholeNumber($0.trimmed) } }

    func decimalNumber(_ name: StaticString) -> Double? { value(name).flatMap { FeedValues.decimalNumber($0.trimmed) } }

    func seconds(_ name: StaticString) -> Double? { value(name).flatMap { FeedValues.seconds($0.trimmed) } }

    /// Returns an attribute as a file size.
    func length(_ name: StaticString) -> Int64? { value(name).flatMap { FeedValues.length($0.trimmed) } }

    func date(_ name: StaticString) -> PublicationDate? {
        value(name).flatMap { PublicationDate.read($0.trimmed)?.date }
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
