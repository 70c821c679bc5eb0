internal import Foundation
internal import Platform

/// The program that makes a request, with the names under which the list of indexers or of probes may contain it.
///
/// The kernel reports the *thread* that makes a request (`fuse_in_header.pid`). A thread has the executable and the
/// arguments of its process, so both are read with the thread's id. Finding the thread group's leader would require
/// `/proc/PID/status`, which costs as much as all other reads together. Only `comm` differs between the threads of a
/// process. So the leader (Tgid) is looked up only when `comm` is needed.
struct CallingProgram: Equatable {
    /// The executable's base name. If the process belongs to another user, so that its `exe` link cannot be read, the
    /// `comm` of the thread group's leader.
    let name: String
    /// Whether the name is a `comm`, which the kernel cuts to 15 bytes (TASK_COMM_LEN).
    let isCut: Bool
    /// The base names of the words of an interpreter's command line that may name the script.
    let scripts: [String]

    /// - Parameters:
    ///   - thread: A thread or process id; 0 for a caller in another pid namespace.
    ///   - proc: The mount point of proc(5).
    /// - Returns: `nil` if the caller is unknown, or has exited.
    init?(thread: Int32, proc: String = "/proc") {
        guard thread > 0 else { return nil }
        let folder = "\(proc)/\(thread)"
        if let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/exe") {
            var name = Self.baseName(path)
            // The kernel appends ` (deleted)` to the path if an update has replaced the running program (d_path in
            // fs/d_path.c).
            if name.hasSuffix(Self.deleted) { name = String(name.dropLast(Self.deleted.count)) }
            self.name = name
            isCut = false
        } else {
            let leader = SystemFile.contents("\(folder)/status").flatMap(Self.leader) ?? thread
            guard let comm = SystemFile.contents("\(proc)/\(leader)/comm") else { return nil }
            name = String(comm.prefix { $0 != "\n" })
            isCut = true
        }
        // The first words of a command line suffice.
        let commandLine = Self.isInterpreter(name) ? SystemFile.contents("\(folder)/cmdline", limit: 4_096) : nil
        scripts = Self.scripts(in: commandLine ?? "")
    }

    /// Interpreters without their versions. Shells are not included, because their scripts read files by starting other
    /// programs, which have names of their own.
    private static let interpreters: Set = [
        "bun", "deno", "guile", "lua", "luajit", "node", "nodejs", "perl", "php", "pypy", "python", "ruby",
    ]

    /// Whether a program is an interpreter, with or without a version: `python3.11`, `perl5.36-x86_64-linux-gnu`.
    private static func isInterpreter(_ name: String) -> Bool {
        let letters = name.prefix { $0.isLetter }
        let rest = name[letters.endIndex...].first
        return interpreters.contains(String(letters)) && (rest == nil || rest == "-" || rest?.isNumber == true)
    }

    /// Returns the words of a command line that may name the script or module: the first one that is not an option. If
    /// options precede it, it may also be the value of one, so the next word is returned too.
    private static func scripts(in commandLine: String) -> [String] {
        let words = commandLine.utf8.split(separator: 0).dropFirst().map { String(Substring($0)) }
        let names = words.filter { !$0.hasPrefix("-") && $0 != "run" }
        return names.prefix(words.first?.hasPrefix("-") == true ? 2 : 1).map(baseName)
    }

    /// Whether the list contains the program or its script, with or without the script's suffix.
    func isAmong(_ names: Set<String>) -> Bool {
        if names.contains(name) { return true }
        if isCut, names.contains(where: { $0.utf8.prefix(Self.commLength).elementsEqual(name.utf8) }) { return true }
        return scripts.contains { script in
            guard let dot = script.lastIndex(of: "."), dot > script.startIndex else { return names.contains(script) }
            return names.contains(script) || names.contains(String(script[..<dot]))
        }
    }

    private static let commLength = 15
    private static let deleted = " (deleted)"

    static func baseName(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? "" }

    /// Returns the process id (`Tgid`) in the status file of a thread (proc_pid_status(5)).
    static func leader(status: String) -> Int32? {
        let line = status.split(separator: "\n").first { $0.hasPrefix("Tgid:") }
        return line.flatMap { Int32($0.dropFirst(5).drop(while: \.isWhitespace)) }
    }
}

/// The programs that only probe files. They read headers and tags, and must not start the download of a whole file.
package enum Probes: Sendable, Equatable {
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
