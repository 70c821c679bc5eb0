internal import CCrypto
internal import Platform
package import SystemPackage

/// Digests of files, computed by OpenSSL's libcrypto, which uses the processor's SHA instructions if it has them.
package enum FileDigest {
    /// The size of a read in bytes: large enough to make the cost of the calls negligible, small enough to fit into the
    /// L2 cache.
    private static let bufferSize = 256 * 1024

    /// Computes the digest of a file's first `size` bytes, in lower-case hexadecimal. Throws `Errno`: `ioError` if the
    /// file is shorter.
    ///
    /// - Parameter visit: Called with each part that was read, in order.
    package static func digest(
        _ algorithm: FileHash.Algorithm, of descriptor: FileDescriptor, size: Int64,
        visit: (UnsafeRawBufferPointer) throws(Errno) -> Void = { _ in }
    ) throws(Errno) -> String {
        guard let context = EVP_MD_CTX_new() else { throw .noMemory }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestInit_ex(context, messageDigest(algorithm), nil) == 1 else { throw .ioError }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferSize, alignment: 4_096)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < size {
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(min(Int64(bufferSize), size - offset))])
            guard try descriptor.readFully(into: part, at: offset) == part.count,
                EVP_DigestUpdate(context, part.baseAddress, part.count) == 1
            else { throw .ioError }
            try visit(UnsafeRawBufferPointer(part))
            offset += Int64(part.count)
        }
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        guard EVP_DigestFinal_ex(context, &digest, &length) == 1 else { throw .ioError }
        return digest.prefix(Int(length)).hexadecimal
    }

    private static func messageDigest(_ algorithm: FileHash.Algorithm) -> OpaquePointer? {
        switch algorithm {
        case .sha256: EVP_sha256()
        case .sha384: EVP_sha384()
        case .sha512: EVP_sha512()
        }
    }
}

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
}

extension FileHash {
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
        self.init(algorithm: found, digests: digests)
    }

    package var description: String { digests.map { "\(algorithm.rawValue)-\($0)" }.joined(separator: " ") }
}
