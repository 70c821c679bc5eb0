package import Fuse
internal import Glibc
internal import SystemPackage

// What access(2) tells. An open or a change is refused by its own handler, whatever was told here.
extension PodcastFilesystem {
    /// As on a disk that is mounted read-only. Without an answer the kernel would allow everything, and shells and file
    /// managers would offer what then fails.
    package func access(_ request: consuming Request, node: NodeID, mask: Int32) {
        guard let number = NodeNumber(node) else {
            request.reply(error: .staleNFSFileHandle)
            return
        }
        if mask & W_OK != 0 {
            request.reply(error: .readOnlyFileSystem)
        } else if mask & X_OK != 0, !number.mayBeEntered {
            // Nobody may, not even root: no file here is a program.
            request.reply(error: .permissionDenied)
        } else if mask & R_OK != 0, refuses(number, to: request.caller.uid) {
            request.reply(error: .permissionDenied)
        } else {
            request.replyDone()
        }
    }
}

extension NodeNumber {
    /// A folder or a link, whose mode has the execute bits.
    fileprivate var mayBeEntered: Bool {
        switch kind {
        case .fixed: self == .root
        case .show, .gathering, .search, .term, .foundShow, .notesFolder, .chaptersFolder: true
        case .latestLink, .downloadedLink: true
        default: false
        }
    }
}
