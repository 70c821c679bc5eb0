import Foundation

/// A changelog in Debian's format (Debian Policy, section 4.4), converted from the project's changelog in Markdown.
struct DebianChangelog {
    let text: String

    /// - Parameters:
    ///   - markdown: The project's changelog: a second-level heading for each version, followed by a list of changes.
    ///   - version: The version of the package. The result has one entry: the changes of this version, or the line
    ///     "Release VERSION." if the changelog lists none.
    ///   - maintainer: `NAME <ADDRESS>`.
    ///   - date: The date in the format of RFC 5322.
    init(markdown: String, version: String, maintainer: String, date: String) {
        var changes: [[Substring]] = []
        var isInSection = false
        for line in markdown.replacing("**", with: "").split(separator: "\n") {
            if line.hasPrefix("## ") {
                isInSection = line.dropFirst(3).split(separator: " ").first.map { $0 == version } ?? false
            } else if isInSection, line.hasPrefix("- ") {
                changes.append(line.dropFirst(2).split(separator: " "))
            } else if isInSection, line.hasPrefix("  "), !changes.isEmpty {
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

    /// Formats a change as a list item, wrapped at 79 columns.
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

/// The copyright file in Debian's format (copyright-format 1.0), converted from the text of the MIT license.
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
