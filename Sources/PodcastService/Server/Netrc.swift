internal import Foundation
internal import Glibc
internal import PodcastLibrary
internal import Synchronization
package import TransferEngine

/// The file in which programs find names and passwords of hosts, `~/.netrc`; the format is that of ftp(1), as curl reads it.
///
/// An entry is of a host, whatever the scheme and the port. What may have it is decided here and not by curl, which would
/// look for every address, that of a redirect and that of a feed's picture included: the origin of an address that a
/// person gave, and that of a subscription over https wherever that has moved. Thread-safe.
package final class Netrc: Sendable {
    package struct Entry: Equatable, Sendable {
        package var login: String
        package var password: String
    }

    private struct Known {
        var version: Version
        var text: String
    }

    /// By which a file is known to be as it was.
    private struct Version: Equatable {
        var inode: UInt64
        var size: Int64
        var seconds: Int
        var nanoseconds: Int
    }

    private let path: String?
    private let known = Mutex<Known?>(nil)

    /// A larger file is another one.
    private static let largestFile = 1 << 20

    /// - Parameter path: `nil` for the user's own.
    package init(path: String? = nil) {
        self.path = path ?? ProcessInfo.processInfo.environment["HOME"].map { $0 + "/.netrc" }
    }

    /// What may be sent to the origin of an address that a person gave.
    package func credentials(for url: String) -> Credentials? { credentials(for: url, given: url) }

    /// What may be sent to the origin of a subscription.
    ///
    /// - Parameters:
    ///   - url: where the feed is.
    ///   - given: the address that a person gave; `nil` where a catalogue or a server did. In clear text a password goes to
    ///     the origin of that one alone: a server may move its feed to any host, scheme and port.
    package func credentials(for url: String, given: String?) -> Credentials? {
        guard let origin = Credentials.origin(of: url) else { return nil }
        guard origin.hasPrefix("https:") || origin == given.flatMap(Credentials.origin) else { return nil }
        return entry(forAddress: url, user: nil).map {
            Credentials(user: $0.login, password: $0.password, origin: origin)
        }
    }

    /// What the file says of an address's host.
    ///
    /// - Parameter user: whose password is wanted; `nil` takes the first entry's.
    package func entry(forAddress address: String, user: String?) -> Entry? {
        guard let text else { return nil }
        let host = FeedAddress.host(of: address.contains("://") ? address : "https://" + address)
        return Self.entry(text, host: host, user: user ?? Self.user(inAddress: address))
    }

    /// As it is now: the file is small, and changes while the daemon runs.
    private var text: String? {
        var status = stat()
        guard let path, stat(path, &status) == 0, status.st_size <= Self.largestFile else { return nil }
        let version = Version(
            inode: UInt64(status.st_ino), size: Int64(status.st_size), seconds: status.st_mtim.tv_sec,
            nanoseconds: status.st_mtim.tv_nsec)
        return known.withLock { known in
            if let known, known.version == version { return known.text }
            guard let data = FileManager.default.contents(atPath: path), data.count <= Self.largestFile else {
                return nil
            }
            let text = String(decoding: data, as: UTF8.self)
            known = Known(version: version, text: text)
            return text
        }
    }

    package static func entry(_ text: String, host: String, user: String?) -> Entry? {
        var machine: String?
        var login: String?
        var password: String?
        func found() -> Entry? {
            guard let machine, machine.isEmpty || machine.lowercased() == host, let login, let password,
                user == nil || user == login
            else { return nil }
            return Entry(login: login, password: password)
        }
        // A macro goes on to the next empty line.
        var isMacro = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if isMacro {
                isMacro = !line.allSatisfy(\.isWhitespace)
                continue
            }
            var words = words(of: line)[...]
            while let word = words.popFirst() {
                switch word {
                case "machine", "default":
                    if let entry = found() { return entry }
                    (login, password) = (nil, nil)
                    // That of no host is for all others.
                    machine = word == "default" ? "" : words.popFirst()
                case "login": login = words.popFirst()
                case "password": password = words.popFirst()
                case "account": _ = words.popFirst()
                case "macdef": (isMacro, words) = (true, [])
                default:
                    if word.hasPrefix("#") { words = [] }
                }
            }
        }
        return found()
    }

    /// Words between white space; one in quotes may have white space and, behind a backslash, quotes in it.
    private static func words(of line: Substring) -> [String] {
        var words: [String] = []
        var rest = line[...]
        while let start = rest.firstIndex(where: { !$0.isWhitespace }) {
            rest = rest[start...]
            guard rest.first == "\"" else {
                let word = rest.prefix { !$0.isWhitespace }
                words.append(String(word))
                rest = rest[word.endIndex...]
                continue
            }
            rest = rest.dropFirst()
            var word = ""
            while let character = rest.popFirst(), character != "\"" {
                if character == "\\", let escaped = rest.popFirst() {
                    word.append(escaped == "n" ? "\n" : escaped == "r" ? "\r" : escaped == "t" ? "\t" : escaped)
                } else {
                    word.append(character)
                }
            }
            words.append(word)
        }
        return words
    }

    /// As in `https://user@host`.
    package static func user(inAddress address: String) -> String? {
        let rest = address.firstRange(of: "://").map { address[$0.upperBound...] } ?? address[...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let at = authority.lastIndex(of: "@") else { return nil }
        let name = authority[..<at].prefix { $0 != ":" }
        return name.isEmpty ? nil : name.removingPercentEncoding ?? String(name)
    }
}
