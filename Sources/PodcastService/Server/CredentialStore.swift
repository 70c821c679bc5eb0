internal import Foundation
internal import Glibc
internal import Platform
package import PodcastLibrary
internal import Synchronization
package import TransferCore
package import TransferEngine

/// The names and passwords that came with the addresses of feeds, and those of the sync server: a file that nobody else
/// may read, beside the library and not in it.
///
/// By the show's id: they follow a show whose feed moves, and are sent to the origin that they were given for alone.
/// Safe from any thread; the file is written whole by each change, so that a change is there or is not.
package final class CredentialStore<ID: Identifier>: Sendable {
    private struct Entry: Codable {
        var show: ID
        var origin: String
        var user: String
        var password: String
    }

    private struct Content: Codable {
        var shows: [Entry]
    }

    /// Where those of the sync server stand among the shows', which have numbers from 1.
    private static var syncServer: ID { 0 }

    private let path: String
    private let entries: Mutex<[ID: Credentials]>
    /// What is wrong with the file that was found, one line. It has been moved aside, and the store is empty.
    package let problem: String?

    private init(path: String, entries: [ID: Credentials], problem: String? = nil) {
        self.path = path
        self.entries = Mutex(entries)
        self.problem = problem
    }

    /// For the one process that writes the file, which need not exist yet.
    package convenience init(path: String) {
        do throws(AtomicFile.Problem) {
            self.init(path: path, entries: try Self.read(path))
        } catch {
            let aside = path + ".damaged"
            let isMoved = rename(path, aside) == 0
            self.init(
                path: path, entries: [:],
                problem: "\(error)\(isMoved ? "; it is kept as \(aside)" : ""): "
                    + "subscribe again with the names and passwords")
        }
    }

    /// For a process that only looks.
    package static func reading(_ path: String) throws -> CredentialStore<ID> {
        CredentialStore(path: path, entries: try read(path))
    }

    private static func read(_ path: String) throws(AtomicFile.Problem) -> [ID: Credentials] {
        guard access(path, F_OK) == 0 else { return [:] }
        guard let data = FileManager.default.contents(atPath: path),
            let content = try? JSONDecoder().decode(Content.self, from: data)
        else { throw AtomicFile.Problem(description: "\(path) is damaged or cannot be read") }
        let found = content.shows.map {
            ($0.show, Credentials(user: $0.user, password: $0.password, origin: $0.origin))
        }
        return Dictionary(found, uniquingKeysWith: { _, last in last })
    }

    /// Those of a show.
    package subscript(_ show: ID) -> Credentials? { entries.withLock { $0[show] } }

    /// Keeps or, with `nil`, forgets those of a show.
    package func set(_ credentials: Credentials?, for show: ID) throws {
        try change { $0[show] = credentials }
    }

    /// Forgets those of all other shows.
    package func keep(only shows: Set<ID>) throws {
        try change { entries in
            entries = entries.filter { shows.contains($0.key) || $0.key == Self.syncServer }
        }
    }

    /// Those of the sync server.
    package var sync: Credentials? { self[Self.syncServer] }

    /// Keeps or, with `nil`, forgets those of the sync server.
    package func setSync(_ credentials: Credentials?) throws { try set(credentials, for: Self.syncServer) }

    private func change(_ body: (inout [ID: Credentials]) -> Void) throws {
        try entries.withLock { entries in
            var changed = entries
            body(&changed)
            guard changed != entries else { return }
            let content = Content(
                shows: changed.sorted { $0.key < $1.key }.map {
                    Entry(show: $0.key, origin: $0.value.origin, user: $0.value.user, password: $0.value.password)
                })
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            try AtomicFile.write(
                [UInt8](encoder.encode(content)) + [UInt8(ascii: "\n")], to: path, mode: 0o600,
                isSoleWriter: true)
            entries = changed
        }
    }
}

extension CredentialStore<ShowID> {
    /// The address of a show as it was given.
    package func address(of subscription: Subscription) -> PrivateAddress {
        let credentials = self[subscription.podcast]
        // The feed may have moved to another place, which was never given them.
        let fit = credentials.map { $0.fit(subscription.url) } ?? false
        return PrivateAddress(url: subscription.url, credentials: fit ? credentials : nil)
    }
}
