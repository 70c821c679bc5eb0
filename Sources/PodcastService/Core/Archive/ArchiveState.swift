/// The result of a look at the configured archive folder.
enum ArchiveProbe: Sendable, Equatable {
    /// There is no folder at the path, or no folder that can be read: the reason as text.
    case unreadable(String)
    /// The file system does not respond.
    case stalled
    /// There is a folder without a marker file.
    case unmarked
    /// The id in the folder's marker file.
    case marked(String, isWritable: Bool)
    /// The folder must not be used, for example because it is in the cache: the reason as text.
    case forbidden(String)
}

/// The availability of the archive folder.
enum ArchiveState: Sendable, Equatable {
    /// The configuration names no folder.
    case unset
    /// Nobody has looked at the folder yet.
    case unknown
    case online
    /// Files can be read, but none can be added: the reason as text.
    case readOnly(String)
    /// Files can neither be read nor added: the reason as text.
    case offline(String)

    /// The consequence of a look at the folder.
    enum Verdict: Sendable, Equatable {
        case state(ArchiveState)
        /// The folder is new: write a marker file, then look again.
        case mark
    }

    /// Judges a look at the folder.
    ///
    /// An unmounted disk leaves an empty folder at its mount point. So a folder without a marker is only accepted as a
    /// new archive while the library has none.
    ///
    /// - Parameters:
    ///   - known: The id of the archive that the library knows; `nil` if there is none.
    ///   - hasFiles: Whether the library has files in that archive.
    static func judge(
        _ probe: ArchiveProbe, of folder: String, known: String?, hasFiles: Bool
    ) -> Verdict {
        switch probe {
        case .unreadable(let reason): return .state(.offline("\(folder): \(reason)"))
        case .stalled: return .state(.offline("\(folder): the file system does not respond"))
        case .forbidden(let reason): return .state(.offline("archive.folder: \(folder) \(reason)"))
        case .unmarked:
            if known == nil || !hasFiles { return .mark }
            return .state(
                .offline(
                    "\(folder) has no file \(ArchiveNames.marker): the archive's disk is not mounted there, "
                        + "or the file was left behind when the archive was moved"))
        case .marked(let id, let isWritable):
            if let known, hasFiles, known != id {
                return .state(
                    .offline("\(folder) is another archive: \(ArchiveNames.marker) has the id \(id), not \(known)"))
            }
            return .state(isWritable ? .online : .readOnly("\(folder) is read-only"))
        }
    }

    /// The reason why files cannot be read; `nil` if they can.
    var readProblem: String? {
        if case .offline(let reason) = self { reason } else { nil }
    }

    /// The reason why files cannot be added; `nil` if they can.
    var writeProblem: String? {
        switch self {
        case .unset: "there is no archive: set archive.folder in podfs.conf(5)"
        case .unknown: "the archive folder has not been examined yet"
        case .online: nil
        case .readOnly(let reason), .offline(let reason): reason
        }
    }
}

/// The names in the archive folder that are not those of shows and episodes.
enum ArchiveNames {
    /// The file with the archive's id.
    static let marker = ".podfs-archive"
    /// The beginning of the names of unfinished files; the installation's id follows.
    static let partial = ".podfs-partial-"
}
