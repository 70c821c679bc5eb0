/// A resolver of a document's references, with limits on the length of each address and on their total growth.
///
/// A reference of one byte becomes as long as its base. Without a limit on the total, a document of a few mebibytes
/// with a long base would fill the memory with gibibytes of addresses.
struct URLResolver {
    private let limits: FeedLimits
    /// The number of bytes by which all addresses together exceed their references.
    private var growth = 0

    init(limits: FeedLimits) {
        self.limits = limits
    }

    /// Resolves a reference; `nil` if it is empty, if the result exceeds the length limit, or if earlier ones have used
    /// up the growth limit.
    mutating func resolve(_ text: FeedBytes, base: String?) -> String? {
        guard text.count <= limits.url else { return nil }
        let reference = text.trimmed
        guard !reference.isEmpty,
            // Skip the work for further relative references.
            growth <= limits.bytes || URLReference.scheme(of: String(decoding: reference, as: UTF8.self)) != nil
        else { return nil }
        let address = URLReference.resolve(reference, base: base)
        let length = address.utf8.count
        growth += max(0, length - text.count)
        guard length > 0, length <= limits.url, length <= text.count || growth <= limits.bytes else { return nil }
        return address
    }
}
