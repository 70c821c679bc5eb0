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

    /// Returns the name for an unfinished file of an installation.
    static func newPartial(_ owner: String) -> String { "\(partial)\(owner)-\(UInt64.random(in: 0 ... .max))" }
}
