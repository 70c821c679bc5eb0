/// The hash that a complete file must have: one algorithm of the SHA-2 family, and the accepted digests.
///
/// The text form is that of W3C Subresource Integrity, `sha384-DIGEST sha384-DIGEST`, but with hexadecimal digests.
package struct FileHash: Sendable, Hashable, CustomStringConvertible {
    /// A member of the SHA-2 family.
    package enum Algorithm: String, Sendable, CaseIterable {
        case sha256, sha384, sha512
    }

    package let algorithm: Algorithm
    /// The accepted digests, in lower-case hexadecimal.
    package let digests: [String]

    package init(_ algorithm: Algorithm, _ digests: [String]) {
        self.algorithm = algorithm
        self.digests = digests
    }

    /// Parses text in the form of `description`; returns `nil` for any other text.
    package init?(_ text: String) {
        var found: Algorithm?
        var digests: [String] = []
        for word in text.split(separator: " ") {
            let parts = word.split(separator: "-", maxSplits: 1)
            guard parts.count == 2, let algorithm = Algorithm(rawValue: String(parts[0])),
                found ?? algorithm == algorithm
            else { return nil }
            found = algorithm
            digests.append(String(parts[1]))
        }
        guard let found else { return nil }
        self.init(found, digests)
    }

    package var description: String { digests.map { "\(algorithm.rawValue)-\($0)" }.joined(separator: " ") }
}
