/// What a cancelled download leaves behind, so that it can be told later whether it can go on from there: URLSession's
/// resume data. The bytes themselves stay in the cache, and their checkpoint beside them says which can be trusted.
package struct ResumeData: Codable, Sendable, Equatable {
    /// Of this format.
    package static let currentVersion = 1

    package var version = ResumeData.currentVersion
    /// The owner's name for the file.
    package var key: MediaID
    package var generation: Int
    /// Bytes; absent while unknown.
    package var total: Int64?
    /// `Validator.text`; absent where there is no strong one.
    package var validator: String?
    /// What was present, as `ByteRanges.text`.
    package var present: String
    /// Where the owner said that the file is.
    package var url: String

    package init(
        key: MediaID, generation: Int, total: Int64? = nil, validator: String? = nil, present: String, url: String
    ) {
        self.key = key
        self.generation = generation
        self.total = total
        self.validator = validator
        self.present = present
        self.url = url
    }

    /// Whether a download of that rendition goes on from these bytes: the cache file is that of the generation, and what
    /// is known of both agrees. What is not known, to either, contradicts nothing.
    package func fits(generation: Int, validator: String?, total: Int64?) -> Bool {
        guard version == Self.currentVersion, generation == self.generation else { return false }
        if let own = self.validator, let validator, own != validator { return false }
        if let own = self.total, let total, own != total { return false }
        guard let present = ByteRanges(text: present), !present.isEmpty else { return false }
        guard let end = present.ranges.last?.upperBound, let size = self.total ?? total else { return true }
        return end <= size
    }
}
