/// A resolver of a document's URL references, with limits on the length of each URL and on the total of added bytes.
///
/// A reference of one byte becomes as long as its base. Without a limit on the total, a document of a few mebibytes
/// with a long base would fill the memory with gibibytes of URLs.
struct URLResolver {
    private let limits: FeedLimits
    /// The number of bytes by which all URLs together are longer than their references.
    private var addedBytes = 0

    init(limits: FeedLimits) { self.limits = limits }

    /// Resolves a reference; `nil` if it is empty, or if it or the URL exceeds the length limit. Once the added bytes
    /// exceed the total limit, also `nil` for a relative reference, and for an absolute one that resolving lengthens.
    mutating func resolve(_ text: FeedBytes, base: String?) -> String? {
        guard text.count <= limits.url else { return nil }
        let reference = text.trimmed
        guard !reference.isEmpty,
            // Beyond the total limit, further relative references need not be resolved.
            addedBytes <= limits.bytes || URLReference.scheme(of: String(decoding: reference, as: UTF8.self)) != nil
        else { return nil }
        let address = URLReference.resolve(reference, base: base)
        let length = address.utf8.count
        addedBytes += max(0, length - text.count)
        guard length > 0, length <= limits.url, length <= text.count || addedBytes <= limits.bytes else { return nil }
        return address
    }
}
