/// The hashes that the feed lists for the locations of a file. The complete file is checked against them.
///
/// Each location may have a hash of its own, since some locations offer the episode in another encoding. After a
/// restart it is not known for certain which location the bytes came from, so a file that has the hash of any location
/// is accepted.
struct ExpectedHashes: Sendable {
    enum Match: Sendable, Equatable {
        /// The file has a listed hash.
        case verified
        /// The location that the bytes come from has a hash, and the file has none of the listed hashes.
        case differs
        /// The location that the bytes come from has no hash, and the file has none of the hashes of other locations.
        case unknown
    }

    private let hashes: Set<FileHash>
    /// Whether the location that the bytes come from has a hash.
    private let isRequired: Bool

    /// - Parameter current: The index of the location that the bytes come from.
    init(_ locations: [DownloadSource.Location], current: Int) {
        hashes = Set(locations.compactMap(\.hash))
        isRequired = locations.indices.contains(current) && locations[current].hash != nil
    }

    static let mismatch = TransferError(
        .unusable, "the file is not the one that the feed describes: its hash differs (podcast:integrity)")

    /// Compares the hashes with the file's.
    ///
    /// - Parameter digest: Returns the digest of the file in lower-case hexadecimal; called at most once for each
    ///   algorithm.
    func check(_ digest: (FileHash.Algorithm) throws -> String) rethrows -> Match {
        for algorithm in FileHash.Algorithm.allCases {
            let listed = hashes.filter { $0.algorithm == algorithm }.flatMap(\.digests)
            if !listed.isEmpty, listed.contains(try digest(algorithm)) { return .verified }
        }
        return isRequired ? .differs : .unknown
    }
}

extension Checkpoint {
    /// The facts of the complete file; `nil` if the file is not complete.
    var facts: FileFacts? {
        guard complete, let total, let sha256 else { return nil }
        return FileFacts(size: total, sha256: sha256, isVerified: isVerified ?? false)
    }
}
