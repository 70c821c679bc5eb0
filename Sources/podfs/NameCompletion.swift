import ArgumentParser
import Foundation
import PodcastLibrary
import PodcastProtocol

/// What a shell offers for the names of shows and episodes. Read from the library: no daemon is started, and nothing is
/// said of what is wrong.
enum NameCompletion {
    /// For SHOW.
    static let shows = CompletionKind.custom { _, _, prefix in
        shell(shows(beginning: unquoted(prefix)))
    }

    /// For PATH: shows, `SHOW/EPISODE`, and paths of files.
    static let paths = CompletionKind.custom { _, _, prefix in
        shell(paths(beginning: unquoted(prefix)))
    }

    /// As many as a shell shows without asking.
    private static let enough = 100

    private static func library() -> Library? {
        Places(environment: ProcessInfo.processInfo.environment).flatMap {
            try? Library.openForReading(at: $0.library)
        }
    }

    private static func shows(beginning prefix: String) -> [String] {
        let names = (try? library()?.folders().map(\.name)) ?? []
        return names.filter { $0.hasPrefix(prefix) }
    }

    private static func paths(beginning prefix: String) -> [String] {
        let files = files(beginning: prefix)
        guard let library = library(), let folders = try? library.folders() else { return files }
        if let slash = prefix.firstIndex(of: "/"), let show = folders.first(where: { $0.name == prefix[..<slash] }) {
            return episodes(of: show, library).filter { $0.hasPrefix(prefix) } + files
        }
        let found = folders.filter { $0.name.hasPrefix(prefix) }
        // Of one show the newest episodes are offered with it.
        let below = found.count == 1 && !prefix.isEmpty ? episodes(of: found[0], library).prefix(enough) : []
        return found.map(\.name) + below + files
    }

    private static func episodes(of show: FolderEntry, _ library: Library) -> [String] {
        ((try? library.entries(of: show.id)) ?? []).map { "\(show.name)/\($0.name)" }
    }

    /// Files and folders, where a path has been begun: a mount is not looked into for a bare word.
    private static func files(beginning prefix: String) -> [String] {
        guard let slash = prefix.lastIndex(of: "/") else { return [] }
        let folder = String(prefix[...slash])
        let expanded = NSString(string: folder).expandingTildeInPath
        let name = prefix[prefix.index(after: slash)...]
        let names = (try? FileManager.default.contentsOfDirectory(atPath: expanded)) ?? []
        return names.sorted().filter { $0.hasPrefix(name) && (!$0.hasPrefix(".") || name.hasPrefix(".")) }
            .map { folder + $0 }
    }

    // MARK: Shells

    /// What was typed, without the shell's quotes.
    static func unquoted(_ word: String) -> String {
        var result = ""
        var quote: Character?
        var isEscaped = false
        for character in word {
            if isEscaped {
                result.append(character)
                isEscaped = false
            } else if character == "\\", quote != "'" {
                isEscaped = true
            } else if character == quote {
                quote = nil
            } else if quote == nil, character == "'" || character == "\"" {
                quote = character
            } else {
                result.append(character)
            }
        }
        return result
    }

    /// Names come from feeds. Bash expands the words that completion offers (`compgen -W`), substitution of commands
    /// included: there every character that is no letter or digit is quoted. On the command line bash quotes what was
    /// completed, but not a dollar sign or a backquote: such names are not offered, since they would be run. The same holds
    /// for an exclamation mark in zsh, unless it is the last character. Zsh takes what stands behind a colon for an
    /// explanation (`_describe`).
    private static func shell(_ names: [String]) -> [String] {
        switch CompletionShell.requesting {
        case .bash: names.filter { !$0.contains("$") && !$0.contains("`") }.map(quotedForBash)
        case .zsh:
            names.filter { !$0.dropLast().contains("!") }.map {
                $0.replacing("\\", with: "\\\\").replacing(":", with: "\\:")
            }
        default: names
        }
    }

    static func quotedForBash(_ name: String) -> String {
        var result = ""
        for scalar in name.unicodeScalars {
            if scalar.isASCII, !scalar.properties.isAlphabetic, scalar.properties.numericType == nil { result += "\\" }
            result.unicodeScalars.append(scalar)
        }
        return result
    }
}
