internal import Glibc
internal import PodcastProtocol
internal import Transfers

extension TransferError {
    /// The errno of a file system operation that fails with this error.
    var errorNumber: Int32 {
        switch code {
        case .refused, .outOfReach: return EACCES
        case .missing: return ENODATA
        case .unreachable: return EHOSTUNREACH
        case .timedOut: return ETIMEDOUT
        case .diskFull: return ENOSPC
        case .changed: return ESTALE
        case .unusable, .unprobed, .removed, .unverified, .failed: return EIO
        }
    }

    var failure: Failure { Failure(errorNumber: errorNumber, message: message) }
}
