// Names for filesystems and systems with stricter rules than Linux: FAT, exFAT, NTFS, Windows, Samba.
extension FileName {
    /// Converts a stem, a file name without its extension (see `stem(_:)`), to one that Windows, Samba, FAT and exFAT
    /// accept.
    ///
    /// Replaces or removes `: * ? " < > \ |`, removes trailing dots and spaces, and changes the names of devices
    /// (`CON`, `NUL`), which are reserved with any extension.
    package static func portable(_ stem: String) -> String {
        var result = ""
        var rest = stem.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            // A colon before a space separates a title from its subtitle.
            case ":": result += rest.first == " " || rest.isEmpty ? " -" : "-"
            case "\\", "|": result += "-"
            case "\"": result += "'"
            case "<": result += "("
            case ">": result += ")"
            case "*", "?": break
            default: result.unicodeScalars.append(scalar)
            }
        }
        // Leave one byte for the underscore that may be added after a device's name.
        var name = cut(trimmed(replacing(result)), to: stemLimit - 1)
        while let last = name.unicodeScalars.last, last == "." || last.properties.isWhitespace {
            name.unicodeScalars.removeLast()
        }
        name = trimmed(name)
        if name.isEmpty { return untitled }
        let base = name.prefix { $0 != "." }
        return isDevice(trimmedSpace(String(base))) ? "\(base)_\(name.dropFirst(base.count))" : name
    }

    /// Whether a name without extension is a device's name in Windows.
    private static func isDevice(_ name: String) -> Bool {
        let name = name.uppercased()
        if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].contains(name) { return true }
        guard name.hasPrefix("COM") || name.hasPrefix("LPT"), name.count == 4, let last = name.last else {
            return false
        }
        return "0123456789\u{B9}\u{B2}\u{B3}".contains(last)
    }
}
