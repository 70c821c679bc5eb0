internal import Foundation
internal import Platform
package import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import SystemPackage
package import Transfers

/// The reason why a file of credentials cannot be used. Its description is one line.
package enum CredentialFileError: Error, CustomStringConvertible {
    /// The file cannot be read, for example because of its permissions or an IO error.
    case unreadable(path: String, reason: String)
    /// The file was read and does not parse.
    case damaged(path: String)

    package var description: String {
        switch self {
        case .unreadable(let path, let reason): "\(path) cannot be read: \(reason)"
        case .damaged(let path): "\(path) is damaged"
        }
    }
}

/// User names and passwords, in a file with mode 0600. One store has those of feeds and of the sync server, another one
/// those of uploads.
///
/// Keyed by the id of the show or upload, so that credentials follow a show whose feed moves; they are sent only to the
/// origin for which they were entered. Thread-safe; each change replaces the file atomically.
package final class CredentialStore<ID: Identifier>: Sendable {
    /// The key of the sync server's credentials; shows have ids from 1.
    private static var syncServer: ID { 0 }

    private let path: String
    private let entries: Mutex<[ID: Credentials]>
    /// Locked during a change, which waits for the disk. Readers, among them the engine's thread, lock only `entries`.
    private let changing = Mutex(())
    /// The defect of the existing file, in one line; `nil` if the file could be read. A store whose file has a defect
    /// starts empty. A damaged file is renamed to end in `.damaged` if possible; one that cannot be read stays in
    /// place.
    package let problem: String?
    /// The reason why the existing file could not be read; `nil` if it could be, or was damaged. A file that could not
    /// be read is not replaced, so every change fails with this error.
    private let readError: CredentialFileError?

    private init(_ path: String, _ entries: [ID: Credentials], problem: String? = nil, _ error: CredentialFileError?) {
        self.path = path
        self.entries = Mutex(entries)
        self.problem = problem
        readError = error
    }

    /// Opens the store for writing, which only one process may do at a time. The file need not exist yet.
    ///
    /// - Parameter remedy: What the user should do to replace the credentials of a damaged file. It is the end of
    ///   `problem`.
    package convenience init(path: String, remedy: String) {
        do throws(CredentialFileError) {
            self.init(path, try Self.read(path), nil)
        } catch {
            switch error {
            case .unreadable: self.init(path, [:], problem: "\(error): \(Self.unreadableRemedy)", error)
            case .damaged:
                let aside = path + ".damaged"
                let note = rename(path, aside) == 0 ? "; it is kept as \(aside)" : ""
                self.init(path, [:], problem: "\(error)\(note): \(remedy)", nil)
            }
        }
    }

    /// The instruction to the user for a file that cannot be read.
    package static var unreadableRemedy: String { "make the file readable, then restart the daemon" }

    /// Opens the store for reading only. Throws if the file exists and cannot be read.
    package static func reading(_ path: String) throws(CredentialFileError) -> CredentialStore<ID> {
        CredentialStore(path, try read(path), nil)
    }

    private static func read(_ path: String) throws(CredentialFileError) -> [ID: Credentials] {
        let bytes: [UInt8]
        do throws(Errno) {
            bytes = try readFile(path)
        } catch {
            if error == .noSuchFileOrDirectory { return [:] }
            throw CredentialFileError.unreadable(path: path, reason: error.description)
        }
        guard let content = try? JSONDecoder().decode([ID: Credentials].self, from: Data(bytes)) else {
            throw CredentialFileError.damaged(path: path)
        }
        return content
    }

    /// The credentials of a show or upload.
    package subscript(_ owner: ID) -> Credentials? { entries.withLock { $0[owner] } }

    /// Stores the credentials of a show or upload, or removes them if `nil`.
    package func set(_ credentials: Credentials?, for owner: ID) throws { try change { $0[owner] = credentials } }

    /// Removes the credentials of all shows or uploads except the given ones. Those of the sync server stay.
    package func remove(except owners: Set<ID>) throws {
        try change { entries in
            entries = entries.filter { owners.contains($0.key) || $0.key == Self.syncServer }
        }
    }

    /// The credentials of the sync server.
    package var sync: Credentials? { self[Self.syncServer] }

    /// Stores the sync server's credentials, or removes them if `nil`.
    package func setSync(_ credentials: Credentials?) throws { try set(credentials, for: Self.syncServer) }

    private func change(_ body: (inout [ID: Credentials]) -> Void) throws {
        try changing.withLock { _ in
            let known = entries.withLock { $0 }
            var changed = known
            body(&changed)
            guard changed != known else { return }
            if let readError { throw readError }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            try AtomicFile.write(
                [UInt8](encoder.encode(changed)) + [UInt8(ascii: "\n")], to: path, mode: 0o600, isSoleWriter: true)
            let result = changed
            entries.withLock { $0 = result }
        }
    }
}

extension CredentialStore<ShowID> {
    /// The instruction to the user for replacing lost credentials of feeds and of the sync server.
    package static var remedy: String {
        "subscribe again with the user names and passwords, and log in to the sync server again (podfs sync login)"
    }

    /// Returns the address of a show, with the credentials that the user entered for its origin.
    package func address(of subscription: Subscription) -> PrivateAddress {
        let credentials = self[subscription.podcast]
        // The feed may have moved to an origin for which the credentials were not entered.
        let fit = credentials.map { $0.fit(subscription.url) } ?? false
        return PrivateAddress(url: subscription.url, credentials: fit ? credentials : nil)
    }
}
