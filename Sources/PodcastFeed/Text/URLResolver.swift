/// Makes the references of a document absolute, and keeps their number and length in bounds.
///
/// A reference of one byte becomes as long as its base. Without a bound for all of them together, a document of a few
/// mebibytes whose base is long would fill the memory with gibibytes of addresses.
struct URLResolver {
    private let limits: FeedLimits
    /// Bytes that all addresses together are longer than what the document wrote.
    private var growth = 0

    init(limits: FeedLimits) {
        self.limits = limits
    }

    /// The address that a reference stands for; `nil` when there is none, when it is longer than an address may be, or
    /// when those before it grew by as much as the largest document has.
    mutating func resolve(_ text: FeedBytes, base: String?) -> String? {
        guard text.count <= limits.url else { return nil }
        let reference = text.trimmed
        guard !reference.isEmpty,
            // Nor is time spent on more of them.
            growth <= limits.bytes || URLReference.scheme(of: String(decoding: reference, as: UTF8.self)) != nil
        else { return nil }
        let address = URLReference.resolve(reference, base: base)
        let length = address.utf8.count
        growth += max(0, length - text.count)
        guard length > 0, length <= limits.url, length <= text.count || growth <= limits.bytes else { return nil }
        return address
    }
}
