internal import Foundation
internal import Platform
package import Transfers

/// `~/.netrc`, which stores user names and passwords by host; the format is that of ftp(1), as curl parses it.
///
/// An entry applies to a host, whatever the scheme and port. podfs rather than curl decides where an entry is sent,
/// because curl would look up every address, including redirect targets and artwork. An entry is sent to the origin of
/// an address that a person entered, and over https also to the current origin of any subscription.
package struct Netrc: Sendable {
    /// An entry of the file.
    package typealias Entry = (login: String, password: String)

    private let path: String?

    /// Maximum size of the file in bytes; a larger one is ignored.
    private static let largestFile = 1 << 20

    /// - Parameter path: the file; `nil` for the user's own.
    package init(path: String? = nil) {
        self.path = path ?? ProcessInfo.processInfo.environment["HOME"].map { $0 + "/.netrc" }
    }

    /// Returns the credentials for the origin of an address that a person entered.
    package func credentials(for url: String) -> Credentials? { credentials(for: url, given: url) }

    /// Returns the credentials for the origin of a subscription.
    ///
    /// - Parameters:
    ///   - url: the feed's current address.
    ///   - given: the address that a person entered; `nil` if a catalogue or server supplied it. Over http a password
    ///     is sent only to the origin of `given`, because a server may move its feed to any host, scheme and port.
    package func credentials(for url: String, given: String?) -> Credentials? {
        guard let origin = WebAddress.origin(of: url) else { return nil }
        guard origin.hasPrefix("https:") || origin == given.flatMap(WebAddress.origin) else { return nil }
        return entry(forAddress: url, user: nil).map {
            Credentials(user: $0.login, password: $0.password, origin: origin)
        }
    }

    /// Returns the file's entry for the host of an address.
    ///
    /// - Parameter user: the user whose password is wanted. `nil` means the user named in the address, or any user if
    ///   the address names none.
    package func entry(forAddress address: String, user: String?) -> Entry? {
        guard let text else { return nil }
        let whole = address.contains("://") ? address : "https://" + address
        return Self.entry(text, host: WebAddress.host(of: whole), user: user ?? Self.user(inAddress: whole))
    }

    /// The contents of the file, which users edit while the daemon runs.
    private var text: String? {
        var status = stat()
        guard let path, stat(path, &status) == 0, status.st_size <= Self.largestFile else { return nil }
        return FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the first entry of a file for a host, or for all hosts (`default`).
    ///
    /// - Parameters:
    ///   - text: the contents of the file.
    ///   - host: the host in lower case.
    ///   - user: the user whose password is wanted; `nil` means any.
    package static func entry(_ text: String, host: String, user: String?) -> Entry? {
        var machine: String?
        var login: String?
        var password: String?
        func found() -> Entry? {
            guard let machine, machine.isEmpty || machine.lowercased() == host, let login, let password,
                user == nil || user == login
            else { return nil }
            return (login, password)
        }
        // A macro extends to the next empty line.
        var isMacro = false
        // In Swift the line end CR LF is one character.
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: { $0 == "\n" || $0 == "\r\n" }) {
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
                    // The empty string marks the default entry.
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

    private static let escapes: [Substring: String] = ["n": "\n", "r": "\r", "t": "\t"]

    /// Splits a line at white space; a quoted word may contain white space and, after a backslash, quotes.
    private static func words(of line: Substring) -> [String] {
        line.matches(of: /"((?:\\.|[^"\\])*)"?|\S+/).map { match in
            guard let quoted = match.1 else { return String(match.0) }
            return String(quoted.replacing(/\\(.)/) { escapes[$0.1] ?? String($0.1) })
        }
    }

    /// Returns the user of an address such as `https://user@host`.
    package static func user(inAddress address: String) -> String? {
        (try? WebAddress(address))?.userInfo.flatMap { $0.user.isEmpty ? nil : $0.user }
    }
}
