import Foundation

/// Quoting of words in commands that are shown for pasting into a shell.
enum ShellQuoting {
    /// Returns a word that every POSIX shell reads as `text`: in single quotes unless all characters are harmless.
    static func quoted(_ text: String) -> String {
        let isHarmless = !text.isEmpty && text.allSatisfy { $0.isLetter || $0.isNumber || "/._-:,@%+".contains($0) }
        return isHarmless ? text : "'" + text.replacing("'", with: "'\\''") + "'"
    }
}
