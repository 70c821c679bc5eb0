internal import Foundation
internal import GRDB
internal import Platform
package import PodcastFeed
package import PodcastProtocol
internal import Transfers

/// The stored form of the details of shows and episodes: JSON text.
enum StoredDetails {
    /// Returns the JSON of a value; equal values have equal text.
    static func text(_ value: (some Encodable)?) -> String? {
        guard let value else { return nil }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Decodes JSON text; `nil` if that fails, as for a text written by another version of podfs.
    static func value<Value: Decodable>(_ text: String?, as type: Value.Type) -> Value? {
        text.flatMap { try? JSONDecoder().decode(type, from: Data($0.utf8)) }
    }

    /// Replaces the details of a show.
    ///
    /// - Returns: Whether the details have changed.
    static func write(_ details: ShowDetails?, of podcast: ShowID, _ db: Database) throws -> Bool {
        let new = text(details)
        let old = try String.fetchOne(db, "SELECT value FROM show_details WHERE podcast = ?", [podcast])
        guard new != old else { return false }
        if let new {
            try db.run("INSERT OR REPLACE INTO show_details (podcast, value) VALUES (?, ?)", [podcast, new])
        } else {
            try db.run("DELETE FROM show_details WHERE podcast = ?", [podcast])
        }
        return true
    }
}

extension Library {
    /// Returns the details of a show for its page; `nil` if its feed has none.
    package func details(ofShow podcast: ShowID) throws -> ShowDetails? {
        StoredDetails.value(
            try value("SELECT value FROM show_details WHERE podcast = ?", [podcast]), as: ShowDetails.self)
    }
}
