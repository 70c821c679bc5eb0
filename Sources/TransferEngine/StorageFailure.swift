internal import Foundation
internal import Glibc
internal import SystemPackage
internal import TransferCore

/// A file of the cache could not be written.
struct StorageFailure: Error {
    var error: TransferError
    /// The disk refused what the kernel had taken already: it may be lost, although it was written without an error.
    var losesBytes: Bool

    init(_ error: any Error, losesBytes: Bool) {
        self.error = Self.describe(error)
        self.losesBytes = losesBytes
    }

    /// What a failed write means: only where no space is left does it help to wait.
    static func describe(_ error: any Error) -> TransferError {
        if lacksSpace(error) { return TransferError(.diskFull, "no space left in the cache") }
        return TransferError(.failed, "cannot write to the cache: \(error)")
    }

    /// Whether a disk or a quota is full: ENOSPC or EDQUOT, as swift-system or Foundation report them.
    private static func lacksSpace(_ error: any Error) -> Bool {
        if let error = error as? Errno { return error.rawValue == ENOSPC || error.rawValue == EDQUOT }
        if let error = error as? POSIXError { return error.code == .ENOSPC || error.code == .EDQUOT }
        if let error = error as? CocoaError {
            return error.code == .fileWriteOutOfSpace || error.underlying.map(lacksSpace) ?? false
        }
        return false
    }
}
