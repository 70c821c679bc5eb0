internal import Glibc
internal import Platform
internal import SystemPackage

/// The reason why a file could not be added to the archive.
package enum ArchiveError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The folder cannot be used now: no file can be added.
    case unavailable(String)
    /// The archive's disk is full.
    case full
    /// This file cannot be added: the reason as text.
    case refused(String)
    /// The source does not have the recorded content.
    case damaged

    package var description: String {
        switch self {
        case .unavailable(let reason), .refused(let reason): reason
        case .full: "the archive's disk is full"
        case .damaged: "its content is not what was downloaded"
        }
    }

    /// Classifies the error of a system call.
    init(_ error: Errno, _ path: String) {
        self =
            switch error {
            case .noSpace, .diskQuotaExceeded: .full
            case .readOnlyFileSystem, .permissionDenied, .notPermitted, .ioError, .staleNFSFileHandle,
                .operationNotSupportedByDevice,
                .socketNotConnected, .hostIsDown, .noRouteToHost, .timedOut:
                .unavailable("\(path): \(errnoText(error.rawValue))")
            default: .refused("\(path): \(errnoText(error.rawValue))")
            }
    }
}
