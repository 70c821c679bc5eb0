internal import Glibc
internal import SystemPackage

/// The failure of a transfer, in terms that can be reported to a reader.
package struct TransferError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of failure; each has one errno for readers.
    package enum Code: String, Sendable, Equatable {
        /// 401, 403: the server requires credentials, or rejects them.
        case refused
        /// 404, 410: the file is gone from the server.
        case missing
        /// The address is in a more private network than the address that led to it.
        case outOfReach
        /// No connection: name not found, connection refused, no route, or invalid certificate.
        case unreachable
        /// No bytes arrived for too long.
        case timedOut
        /// No space is left for the cache: its disk is full, or a configured limit permits no more bytes. The error
        /// lasts until there is space.
        case diskFull
        /// The server now sends another version of the file than the one being read.
        case changed
        /// The metadata of the cache file differ from those recorded. So the daemon must verify the whole file before
        /// it serves any of its bytes.
        case unverified
        /// The server sent something other than the file: HTML, JSON, a wrong range.
        case unusable
        /// The server cannot send these bytes without those before them, and a probe (a program that only reads tags)
        /// does not start a download.
        case unprobed
        /// The file was removed from the cache while a reader waited for its bytes.
        case removed
        /// Any other failure.
        case failed
    }

    package var code: Code
    /// A description of the failure in one line, for `user.podfs.error` and `.status`.
    package var message: String
    /// The problem with a certificate: the address and the network are then not at fault.
    package let certificate: CertificateProblem?

    /// The reason why a certificate was not accepted.
    package enum CertificateProblem: Sendable {
        /// The server's certificate is not valid.
        case rejected
        /// This system knows no certificate authorities, or not all usual ones.
        case unverifiable
    }

    package init(_ code: Code, _ message: String, certificate: CertificateProblem? = nil) {
        self.code = code
        self.message = message
        self.certificate = certificate
    }

    package var description: String { message }

    /// Whether the network may be at fault rather than the server: no server was reached, or no bytes arrived.
    var isOutage: Bool { code == .unreachable || code == .timedOut }
}

/// A failed write to a file of the cache.
struct StorageFailure: Error {
    var error: TransferError
    /// Whether the disk has rejected bytes that the kernel had accepted. Such bytes may be lost, although the write(2)
    /// that contained them succeeded.
    var losesBytes: Bool

    init(_ error: any Error, losesBytes: Bool) {
        self.error = Self.describe(error)
        self.losesBytes = losesBytes
    }

    /// Converts the error of a failed write to `diskFull` if the write may succeed once space is free, otherwise to
    /// `failed`.
    static func describe(_ error: any Error) -> TransferError {
        // EDQUOT: a quota is full.
        if let error = error as? Errno, [ENOSPC, EDQUOT].contains(error.rawValue) {
            return TransferError(.diskFull, "no space left in the cache")
        }
        return TransferError(.failed, "cannot write to the cache: \(error)")
    }
}
