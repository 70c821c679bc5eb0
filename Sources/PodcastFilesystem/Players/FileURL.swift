/// A `file:` URL of this machine, as players announce it.
package enum FileURL {
    /// The maximum length in bytes: a path of PATH_MAX with every byte percent-encoded, plus the text before it.
    package static let longest = 3 * 4_096 + 32

    /// Returns the absolute path as bytes; `nil` for any other URL, for one that is longer than `longest`, and for a
    /// path with an invalid escape or a NUL.
    package static func path(_ url: String) -> [UInt8]? {
        guard url.utf8.count <= longest else { return nil }
        var rest = Array(url.utf8)[...]
        guard rest.prefix(5).map({ $0 | 0x20 }).elementsEqual("file:".utf8) else { return nil }
        rest = rest.dropFirst(5)
        if rest.starts(with: "//".utf8) {
            rest = rest.dropFirst(2)
            let host = rest.prefix { $0 != UInt8(ascii: "/") }
            guard host.isEmpty || host.elementsEqual("localhost".utf8) else { return nil }
            rest = rest.dropFirst(host.count)
        }
        guard rest.first == UInt8(ascii: "/") else { return nil }
        // A query or a fragment is not part of the path. In a file name, `?` and `#` are percent-encoded.
        rest = rest.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        var path: [UInt8] = []
        path.reserveCapacity(rest.count)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                path.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                return nil
            }
            path.append(high << 4 | low)
        }
        return path.contains(0) ? nil : path
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Returns the components of a path, except for empty components and `.`; `nil` if one is not UTF-8.
    package static func components(_ path: [UInt8]) -> [String]? {
        var components: [String] = []
        for part in path.split(separator: UInt8(ascii: "/")) where part != [UInt8(ascii: ".")] {
            guard let name = String(validating: part, as: UTF8.self) else { return nil }
            components.append(name)
        }
        return components
    }

    /// Returns the components below a folder; `nil` if the path is not below it. Compares text, without a system call.
    package static func components(_ path: [UInt8], below folder: String) -> [String]? {
        guard let all = components(path), let parent = components(Array(folder.utf8)), all.count > parent.count,
            zip(all, parent).allSatisfy({ $0.utf8.elementsEqual($1.utf8) })
        else { return nil }
        return Array(all.dropFirst(parent.count))
    }
}
