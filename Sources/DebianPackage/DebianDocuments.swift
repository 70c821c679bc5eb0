import Foundation

/// The changelog in Debian's format (Debian Policy, section 4.4), converted from the project's own.
struct DebianChangelog {
    let text: String

    /// - Parameters:
    ///   - markdown: The project's changelog: a heading of the second level for each version, with lists of changes.
    ///   - version: The version of the package. Its section becomes the only entry; if the changelog has no such
    ///     section, the entry is one line.
    ///   - date: The date in the format of RFC 5322.
    init(markdown: String, version: String, maintainer: String, date: String) {
        var changes: [[Substring]] = []
        var isEntry = false
        for line in markdown.split(separator: "\n") {
            if line.hasPrefix("## ") {
                isEntry = line.dropFirst(3).split(separator: " ").first.map { $0 == version } ?? false
            } else if isEntry, line.hasPrefix("- ") {
                changes.append(line.dropFirst(2).split(separator: " "))
            } else if isEntry, line.hasPrefix("  "), !changes.isEmpty {
                changes[changes.count - 1] += line.split(separator: " ")
            }
        }
        if changes.isEmpty { changes = [["Release", "\(version)."]] }
        text = """
            podfs (\(version)) unstable; urgency=medium

            \(changes.map(Self.item).joined(separator: "\n"))

             -- \(maintainer)  \(date)

            """
    }

    /// Formats an item of the list in lines of at most 79 columns.
    private static func item(_ words: [Substring]) -> String {
        var lines: [String] = []
        var line = "  *"
        for word in words {
            if line.count + 1 + word.count > 79 {
                lines.append(line)
                line = "   "
            }
            line += " " + word
        }
        return (lines + [line]).joined(separator: "\n")
    }
}

/// The copyright file in Debian's format (copyright-format 1.0), converted from the text of the MIT licence.
struct DebianCopyright {
    let text: String

    init(license: String) {
        let lines = license.split(separator: "\n", omittingEmptySubsequences: false)
        let holder = lines.first { $0.hasPrefix("Copyright") }?.replacing("Copyright (c) ", with: "") ?? ""
        let terms = lines.drop { !$0.hasPrefix("Permission") }.map { $0.isEmpty ? " ." : " \($0)" }
        text = """
            Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
            Upstream-Name: podfs

            Files: *
            Copyright: \(holder)
            License: Expat

            License: Expat
            \(terms.joined(separator: "\n").replacing(/(\n \.)+$/, with: ""))

            """
    }
}
