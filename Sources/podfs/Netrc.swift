import Foundation
import PodcastService

/// The file in which programs find names and passwords of hosts; the format is that of ftp(1), as curl reads it.
enum Netrc {
    struct Entry: Equatable {
        var login: String
        var password: String
    }

    /// What `~/.netrc` says of an address's host.
    ///
    /// - Parameter user: whose password is wanted; `nil` takes the first entry's.
    static func entry(forAddress address: String, user: String?) -> Entry? {
        guard let home = ProcessInfo.processInfo.environment["HOME"],
            let data = FileManager.default.contents(atPath: home + "/.netrc"), data.count < 1 << 20
        else { return nil }
        let host = FeedAddress.host(of: address.contains("://") ? address : "https://" + address)
        return entry(String(decoding: data, as: UTF8.self), host: host, user: user ?? self.user(inAddress: address))
    }

    static func entry(_ text: String, host: String, user: String?) -> Entry? {
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
            var words = line.split(whereSeparator: \.isWhitespace).map(String.init)[...]
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

    /// As in `https://user@host`.
    static func user(inAddress address: String) -> String? {
        let rest = address.firstRange(of: "://").map { address[$0.upperBound...] } ?? address[...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let at = authority.lastIndex(of: "@") else { return nil }
        let name = authority[..<at].prefix { $0 != ":" }
        return name.isEmpty ? nil : name.removingPercentEncoding ?? String(name)
    }
}
