/// The programs that only probe files. They read headers and tags, and must not start the download of a whole file.
package enum Probes: Sendable, Equatable {
    /// No program.
    case none
    /// The programs with these names.
    case listed(Set<String>)
    /// Every program.
    case all
}

/// The role of a program that opens a file. If a program is listed for several roles, the first case here applies.
enum CallerRole {
    /// A program that may open only completely cached episodes and generated files.
    case indexer
    /// A program whose reads fetch only the requested byte ranges.
    case probe
    /// A program whose reads start the download of the whole file.
    case player
}

extension PodcastFilesystem {
    /// Whether the program of a calling thread is an indexer.
    func isIndexer(_ thread: Int32) -> Bool {
        guard !options.indexers.isEmpty, let program = CallingProgram(thread: thread) else { return false }
        return program.isAmong(options.indexers)
    }

    func role(of thread: Int32) -> CallerRole {
        var names: Set<String> = []
        if case .listed(let listed) = options.probes { names = listed }
        let program = options.indexers.isEmpty && names.isEmpty ? nil : CallingProgram(thread: thread)
        if let program, program.isAmong(options.indexers) { return .indexer }
        if options.probes == .all { return .probe }
        return program?.isAmong(names) ?? false ? .probe : .player
    }
}
