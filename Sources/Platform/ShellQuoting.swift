/// Quoting of words in commands that are shown for pasting into a shell.
package enum ShellQuoting {
    /// Returns a word that every POSIX shell reads as `text`: in single quotes unless all scalars are harmless.
    package static func quoted(_ text: String) -> String {
        let isHarmless =
            !text.isEmpty
            && text.unicodeScalars.allSatisfy {
                $0.properties.isAlphabetic || $0.properties.numericType != nil
                    || "/._-:,@%+".unicodeScalars.contains($0)
            }
        if isHarmless { return text }
        var quoted = "'"
        for scalar in text.unicodeScalars {
            if scalar == "'" { quoted += "'\\''" } else { quoted.unicodeScalars.append(scalar) }
        }
        return quoted + "'"
    }
}
