internal import CCrypto
internal import Platform
internal import SystemPackage

/// Digests of files, computed by OpenSSL's libcrypto, which uses the processor's SHA instructions if it has them.
enum FileDigest {
    /// The size of a read in bytes: large enough to make the cost of the calls negligible, small enough to fit into the
    /// L2 cache.
    private static let bufferSize = 256 * 1024

    /// Computes the digest of a file's first `size` bytes, in lower-case hexadecimal. Throws `Errno`: `ioError` if the
    /// file is shorter.
    ///
    /// - Parameter progress: Called with the number of bytes read since its previous call.
    static func digest(
        _ algorithm: FileHash.Algorithm, of descriptor: FileDescriptor, size: Int64,
        progress: (Int) -> Void = { _ in }
    ) throws(Errno) -> String {
        guard let context = EVP_MD_CTX_new() else { throw Errno.noMemory }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestInit_ex(context, messageDigest(algorithm), nil) == 1 else { throw Errno.ioError }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferSize, alignment: 64)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < size {
            let wanted = Int(min(Int64(bufferSize), size - offset))
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
            let count = try descriptor.readFully(into: part, at: offset)
            guard count == wanted else { throw Errno.ioError }
            guard EVP_DigestUpdate(context, part.baseAddress, count) == 1 else { throw Errno.ioError }
            offset += Int64(count)
            progress(count)
        }
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        guard EVP_DigestFinal_ex(context, &digest, &length) == 1 else { throw Errno.ioError }
        return digest.prefix(Int(length)).hexadecimal
    }

    /// Returns OpenSSL's implementation of an algorithm.
    private static func messageDigest(_ algorithm: FileHash.Algorithm) -> OpaquePointer? {
        switch algorithm {
        case .sha256: EVP_sha256()
        case .sha384: EVP_sha384()
        case .sha512: EVP_sha512()
        }
    }
}
