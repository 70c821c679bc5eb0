/// The attributes of a start tag, as libxml2 hands them over: five pointers each. They and the values are valid during
/// the call.
struct FeedAttributes {
    /// Local name, prefix, namespace, first byte of the value, end of the value.
    let pointers: UnsafeMutablePointer<UnsafePointer<UInt8>?>?
    let count: Int
    /// The attributes of a tag that had to be read again; they take precedence.
    var repaired: RawStartTag?
    /// The bytes of the document up to the end of the tag, as far back as libxml2 still has them.
    let source: FeedBytes

    /// Line breaks inside the tag: libxml2 counts lines up to its end.
    var lineBreaks: Int {
        // No attribute value holds a `<`; libxml2 keeps a tag in one piece until it has reported it.
        guard let start = source.lastIndex(of: UInt8(ascii: "<")) else { return 0 }
        return source[start...].count { $0 == UInt8(ascii: "\n") }
    }

    /// The value of an attribute without a prefix. The names of attributes are compared without regard to case.
    func value(_ name: StaticString) -> FeedBytes? {
        find(name, prefix: nil)
    }

    /// The value of `prefix:name`.
    func value(_ name: StaticString, prefix: StaticString) -> FeedBytes? {
        find(name, prefix: prefix)
    }

    private func find(_ name: StaticString, prefix: StaticString?) -> FeedBytes? {
        if let repaired {
            let qualified = prefix.map { "\($0):\(name)" } ?? "\(name)"
            return repaired.attributes.first { $0.name.lowercased() == qualified.lowercased() }?.value
        }
        guard let pointers else { return nil }
        for index in 0..<count {
            let attribute = pointers + 5 * index
            guard let local = attribute[0], Self.equal(local, name) else { continue }
            switch (attribute[1], prefix) {
            case (nil, nil): break
            case (let found?, let wanted?) where Self.equal(found, wanted): break
            default: continue
            }
            guard let start = attribute[3], let end = attribute[4], end >= start else { return nil }
            return FeedBytes(start: start, count: end - start)
        }
        return nil
    }

    /// All of them, with the prefix before the name: for markup that is handed on.
    func forEach(_ body: (_ name: String, _ value: FeedBytes) -> Void) {
        if let repaired {
            for attribute in repaired.attributes { body(attribute.name, attribute.value) }
            return
        }
        guard let pointers else { return }
        for index in 0..<count {
            let attribute = pointers + 5 * index
            guard let local = attribute[0], let start = attribute[3], let end = attribute[4], end >= start else {
                continue
            }
            let prefix = attribute[1].map { String(cString: $0) + ":" } ?? ""
            body(prefix + String(cString: local), FeedBytes(start: start, count: end - start))
        }
    }

    private static func equal(_ name: UnsafePointer<UInt8>, _ wanted: StaticString) -> Bool {
        let bytes = wanted.utf8Start
        for index in 0..<wanted.utf8CodeUnitCount {
            let (one, other) = (name[index], bytes[index])
            guard one == other || (one ^ other == 0x20 && one.isLetter) else { return false }
        }
        return name[wanted.utf8CodeUnitCount] == 0
    }
}
