/// The state of a cancelled download, like URLSession's resume data. It shows later whether the download can continue.
/// The bytes themselves stay in the cache, with a checkpoint that says which of them are valid.
package struct ResumeData: Codable, Sendable, Equatable {
    /// The version of this format.
    package static let currentVersion = 1

    package var version = ResumeData.currentVersion
    /// The owner's key of the file.
    package var key: MediaID
    package var generation: Int
    /// The size in bytes; absent while unknown.
    package var total: Int64?
    /// The strong validator of the file, as `Validator.text`; absent if the server has sent none.
    package var validator: String?
    /// The present ranges, as `ByteRanges.text`.
    package var present: String
    /// The file's first URL, as given by the owner.
    package var url: String

    /// Returns whether a download of the rendition with this generation, validator and size can continue from the
    /// present bytes. The generation must be the same, and bytes must be present. The validators must be equal if both
    /// are known, and so must the sizes.
    package func fits(generation: Int, validator: String?, total: Int64?) -> Bool {
        guard version == Self.currentVersion, generation == self.generation else { return false }
        if let own = self.validator, let validator, own != validator { return false }
        if let own = self.total, let total, own != total { return false }
        guard let present = ByteRanges(text: present), !present.isEmpty else { return false }
        guard let end = present.ranges.last?.upperBound, let size = self.total ?? total else { return true }
        return end <= size
    }
}
