internal import Foundation

/// A `file:` URL of this machine, as players announce it. Texts are divided at bytes: a slash before a combining
/// character is a slash.
package enum FileURL {
    /// The maximum length in bytes: a path of PATH_MAX with every byte percent-encoded, plus the text before it.
    package static let longest = 3 * 4_096 + 32

    /// Returns the absolute path; `nil` for any other URL, for one that is longer than `longest`, and for a path with
    /// an invalid escape, with bytes other than UTF-8, or with a NUL.
    package static func path(_ url: String) -> String? {
        guard url.utf8.count <= longest, url.prefix(5).lowercased() == "file:" else { return nil }
        // A query or a fragment is not part of the path. In a file name, `?` and `#` are percent-encoded.
        var rest = url.utf8.dropFirst(5).prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        if rest.starts(with: "//".utf8) {
            rest = rest.dropFirst(2)
            let host = rest.prefix { $0 != UInt8(ascii: "/") }
            guard host.isEmpty || host.elementsEqual("localhost".utf8) else { return nil }
            rest = rest.dropFirst(host.count)
        }
        guard rest.first == UInt8(ascii: "/"), let path = String(Substring(rest)).removingPercentEncoding,
            !path.utf8.contains(0)
        else { return nil }
        return path
    }

    /// Returns the components of a path, except for empty components and `.`.
    package static func components(_ path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }.filter { $0 != "." }
    }

    /// Returns the components below a folder; `nil` if the path is not below it. Compares text, without a system call.
    package static func components(_ path: String, below folder: String) -> [String]? {
        let (all, parent) = (components(path), components(folder))
        guard all.count > parent.count, zip(all, parent).allSatisfy({ $0.utf8.elementsEqual($1.utf8) }) else {
            return nil
        }
        return Array(all.dropFirst(parent.count))
    }
}
