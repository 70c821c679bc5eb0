import ArgumentParser
import Foundation
import PodcastFeed
import PodcastLibrary
import PodcastProtocol

/// Shell completion of the names of shows and episodes. Reads the library; starts no daemon, and reports no errors.
enum NameCompletion {
    /// The completion of a SHOW argument.
    static let shows = CompletionKind.custom { _, _, prefix in
        let names = (try? library()?.folders().map(\.name)) ?? []
        return quotedForShell(names.filter { $0.hasPrefix(unquoted(prefix)) })
    }

    /// The completion of a PATH argument: shows, `SHOW/EPISODE`, and file paths.
    static let paths = CompletionKind.custom { _, _, prefix in
        quotedForShell(paths(beginning: unquoted(prefix)))
    }

    /// The maximum number of episodes offered while no slash is typed after the show's name. Shells ask before they
    /// display more than 100 candidates.
    private static let episodeLimit = 100

    private static func library() -> Library? {
        InstallationPaths(environment: ProcessInfo.processInfo.environment).flatMap {
            try? Library.openForReading(at: $0.library)
        }
    }

    private static func paths(beginning prefix: String) -> [String] {
        let files = files(beginning: prefix)
        guard let library = library(), let folders = try? library.folders() else { return files }
        if let slash = prefix.firstIndex(of: "/"), let show = folders.first(where: { $0.name == prefix[..<slash] }) {
            return episodes(of: show, library).filter { $0.hasPrefix(prefix) } + files
        }
        let found = folders.filter { $0.name.hasPrefix(prefix) }
        // If only one show matches, its newest episodes are also offered.
        let below = found.count == 1 && !prefix.isEmpty ? episodes(of: found[0], library).prefix(episodeLimit) : []
        return found.map(\.name) + below + files
    }

    private static func episodes(of show: FolderEntry, _ library: Library) -> [String] {
        ((try? library.entries(of: show.id)) ?? []).map { "\(show.name)/\($0.name)" }
    }

    /// Completes a word with a slash as a file path. For a word without a slash it returns nothing: it does not read
    /// the current folder, which may be a mount.
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

    /// Removes the shell's quoting from the typed word.
    static func unquoted(_ word: String) -> String {
        word.replacing(/(?s)'([^']*)'?|"((?:\\.|[^"\\])*)\\?"?|\\(.?)/) { match in
            String(match.2 ?? "").replacing(/(?s)\\(.)/) { $0.1 } + (match.1 ?? match.3 ?? "")
        }
    }

    /// Quotes names, which come from feeds, for the shell that requests the completion.
    ///
    /// Bash expands the words of a completion (`compgen -W`), including command substitution, so every ASCII character
    /// that is not a letter or digit is quoted. When bash inserts the completed word into the command line, it quotes
    /// everything but dollar signs and backquotes. It would then expand these, so names that contain them are not
    /// offered. Zsh would expand an exclamation mark in the same way. So it is not offered names with an exclamation
    /// mark, unless the mark is the last character. Zsh treats the text after a colon as a description (`_describe`),
    /// so colons are escaped.
    private static func quotedForShell(_ names: [String]) -> [String] {
        switch CompletionShell.requesting {
        case .bash:
            names.filter { !$0.unicodeScalars.contains("$") && !$0.unicodeScalars.contains("`") }.map(quotedForBash)
        case .zsh:
            names.filter { !$0.unicodeScalars.dropLast().contains("!") }.map {
                $0.replacingScalars("\\", with: "\\\\").replacingScalars(":", with: "\\:")
            }
        default: names
        }
    }

    static func quotedForBash(_ name: String) -> String {
        name.unicodeScalars.map { scalar in
            let isPlain = !scalar.isASCII || scalar.properties.isAlphabetic || scalar.properties.numericType != nil
            return isPlain ? "\(scalar)" : "\\\(scalar)"
        }.joined()
    }
}
