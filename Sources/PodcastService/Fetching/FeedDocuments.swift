internal import Foundation
internal import Platform
internal import PodcastFeed
internal import PodcastProtocol
internal import Synchronization
internal import Transfers

/// The feeds of the subscribed shows as last fetched, for diagnosing how a show is displayed.
///
/// Two files per show, mode 0600: `ID.xml`, the document byte for byte, and `ID.json`, the parser's result and the
/// redirects that led to the document. Both are replaced atomically. If one is missing, the next request is
/// unconditional and fetches the whole feed; nothing else depends on them. They are therefore not synced to disk, and a
/// failure to write one does not fail the refresh.
struct FeedDocuments: Sendable {
    /// The directory, mode 0700; created before the service starts.
    let folder: String

    private static let temporaryPrefix = "new-"

    /// Creates a file for an incoming document; `nil` if that fails.
    func begin() -> ArrivingDocument? {
        ArrivingDocument(path: "\(folder)/\(Self.temporaryPrefix)\(UInt64.random(in: 0 ... .max))")
    }

    /// Returns when the show's document was received, in seconds since 1970; `nil` if there is none.
    func received(_ podcast: ShowID) -> Int64? {
        var status = stat()
        guard access(path(podcast, "json"), F_OK) == 0, stat(path(podcast, "xml"), &status) == 0 else { return nil }
        return Int64(status.st_mtim.tv_sec)
    }

    /// Replaces both files of a show: the document, and the parser's result with the redirects.
    ///
    /// - Throws: `POSIXError` if a file cannot be written. The other one may have been replaced already.
    func store(_ document: ArrivingDocument, feed: Feed, redirects: RedirectChain, of podcast: ShowID) throws {
        guard let facts = begin() else { throw POSIXError(.EIO) }
        let hops = redirects.hops.map { hop in
            OrderedJSON.object([
                ("status", .int(Int64(hop.status))), ("url", .string(WebAddress.withoutUserInfo(hop.url))),
            ])
        }
        feed.writeInspectJSON(leading: [("redirects", .array(hops))]) { facts.append($0) }
        try facts.move(to: path(podcast, "json"))
        try document.move(to: path(podcast, "xml"))
    }

    func remove(_ podcast: ShowID) {
        for fileExtension in ["xml", "json"] { unlink(path(podcast, fileExtension)) }
    }

    /// Removes documents of unknown shows, and unfinished files of a daemon that was killed.
    func removeAll(but podcasts: Set<ShowID>) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            let id = Int64(name.prefix { $0 != "." }).map { ShowID($0) }
            if id.map(podcasts.contains) ?? !name.hasPrefix(Self.temporaryPrefix) { continue }
            unlink("\(folder)/\(name)")
        }
    }

    private func path(_ podcast: ShowID, _ fileExtension: String) -> String { "\(folder)/\(podcast).\(fileExtension)" }
}

/// A temporary file that is deleted when this object is deinitialized, unless it was moved before. Thread-safe.
final class ArrivingDocument: Sendable {
    private struct State {
        var descriptor: Int32
        /// The errno of the first failed write.
        var error: Int32 = 0
        var isMoved = false
    }

    private let path: String
    private let state: Mutex<State>

    init?(path: String) {
        let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return nil }
        self.path = path
        state = Mutex(State(descriptor: descriptor))
    }

    deinit {
        let isMoved = state.withLock { state in
            if state.descriptor >= 0 { close(state.descriptor) }
            return state.isMoved
        }
        if !isMoved { unlink(path) }
    }

    /// Appends bytes. Write errors are reported when the file is moved.
    func append(_ bytes: [UInt8]) {
        state.withLock { state in
            if state.error == 0, !writeAll(bytes, to: state.descriptor) { state.error = errno }
        }
    }

    /// Closes the file and renames it, replacing an existing file.
    ///
    /// - Parameter obsolete: a file that is removed before the rename, once no later step needs space.
    /// - Throws: the first error of a write, of the close or of the rename.
    func move(to destination: String, removing obsolete: String? = nil) throws {
        let error = state.withLock { state in
            if close(state.descriptor) != 0, state.error == 0 { state.error = errno }
            state.descriptor = -1
            if state.error != 0 { return state.error }
            if let obsolete { unlink(obsolete) }
            if rename(path, destination) != 0 { return errno }
            state.isMoved = true
            return 0
        }
        if error != 0 { throw POSIXError(POSIXErrorCode(rawValue: error) ?? .EIO) }
    }
}

/// The first characters of a document, which distinguish a web page from JSON and other text.
enum DocumentStart {
    /// Returns the bytes without a byte order mark and white space at the start.
    static func text(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        return bytes[start...].drop { $0 <= 0x20 }
    }

    /// Returns whether the document begins with a tag, as web pages do.
    static func isMarkup(_ bytes: [UInt8]) -> Bool { text(bytes).first == UInt8(ascii: "<") }
}
