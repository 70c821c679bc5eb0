internal import Foundation
internal import Glibc
internal import SystemPackage

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
        if lacksSpace(error) { return TransferError(.diskFull, "no space left in the cache") }
        return TransferError(.failed, "cannot write to the cache: \(error)")
    }

    /// Whether a disk or a quota is full: ENOSPC or EDQUOT, as reported by swift-system or Foundation.
    private static func lacksSpace(_ error: any Error) -> Bool {
        if let error = error as? Errno { return error.rawValue == ENOSPC || error.rawValue == EDQUOT }
        if let error = error as? POSIXError { return error.code == .ENOSPC || error.code == .EDQUOT }
        if let error = error as? CocoaError {
            return error.code == .fileWriteOutOfSpace || error.underlying.map(lacksSpace) ?? false
        }
        return false
    }
}
