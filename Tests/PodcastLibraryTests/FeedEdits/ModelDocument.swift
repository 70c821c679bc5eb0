import Glibc
import PodcastFeed
import TestSupport

/// A feed document as the publisher's server sends it: RSS with the items that the publisher lists.
struct ModelDocument: Sendable {
    enum Encoding: CaseIterable, Sendable {
        case utf8
        /// UTF-8 that declares another encoding.
        case mislabelled
        /// Windows-1252 that declares UTF-8. Items with characters outside Windows-1252 remain UTF-8.
        case windows1252CalledUTF8
    }

    private(set) var bytes: [UInt8]
    let contentType: String
    /// Whether the parser must report no diagnostics. If `false`, it must report at least one.
    private(set) var isSound: Bool
    /// The offset at which each item is complete: after the name in its end tag. The parser drops an item that is cut
    /// before that offset.
    private var ends: [Int] = []

    /// - Parameter dateSpelling: 0 for RFC 822 with numeric zones, 1 for RFC 822 with the named zones GMT and EST where
    ///   they apply, 2 for ISO 8601.
    init(_ items: [Said], dateSpelling: Int, encoding: Encoding, using dice: inout SeededGenerator) {
        let charset = encoding == .mislabelled ? dice.pick("iso-8859-1", "windows-1251", "utf-16", "x-none") : "utf-8"
        contentType = dice.pick("text/xml", "application/rss+xml; charset=\(charset)")
        let written = { (text: String) in encoding == .windows1252CalledUTF8 ? Self.windows1252(text) : nil }
        isSound = encoding == .utf8
        bytes = []
        var text = """
            <?xml version="1.0" encoding="\(charset)"?>
            <rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel>
            <title>Größe</title>

            """
        bytes += written(text) ?? Array(text.utf8)
        for item in items {
            text = Self.element(of: item, dateSpelling: dateSpelling)
            bytes += written(text) ?? Array(text.utf8)
            ends.append(bytes.count - 1)
            bytes.append(UInt8(ascii: "\n"))
        }
        bytes += "</channel></rss>".utf8
    }

    /// Truncates the document.
    ///
    /// - Returns: The number of complete items.
    mutating func cut(using dice: inout SeededGenerator) -> Int {
        // The root element starts before byte 150; a shorter document is not a feed. The cut is before the root's end
        // tag.
        let end = Int.random(in: 150..<bytes.count - "</rss>".utf8.count, using: &dice)
        bytes.removeLast(bytes.count - end)
        isSound = false
        return ends.count { $0 <= end }
    }

    /// Parses the document in random pieces, as it would arrive.
    func parsed(using dice: inout SeededGenerator) throws -> Feed {
        let parser = FeedParser(contentType: contentType, base: feedURL)
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...6000, using: &dice))
            piece.withUnsafeBytes { parser.parse($0) }
            rest = rest.dropFirst(piece.count)
        }
        return try parser.finish()
    }

    // MARK: Writing

    private static func element(of item: Said, dateSpelling: Int) -> String {
        var text = "<item>"
        if let title = item.title {
            // Half of the titles are CDATA, which some generators write.
            text +=
                item.identity.isMultiple(of: 2)
                ? "<title>\(escaped(title))</title>" : "<title><![CDATA[\(title)]]></title>"
        }
        if let guid = item.guid {
            text += "<guid isPermaLink=\"\(item.guidIsURL)\">\(escaped(guid))</guid>"
        }
        if let date = item.published { text += "<pubDate>\(spelled(date, dateSpelling))</pubDate>" }
        text += "<enclosure url=\"\(escaped(item.url))\" type=\"\(item.media.type)\""
        if let length = item.length { text += " length=\"\(length)\"" }
        text += "/>"
        if let duration = item.duration {
            let seconds = Int(duration)
            let clock = "\(seconds / 3600):\(padded(seconds / 60 % 60)):\(padded(seconds % 60))"
            text += "<itunes:duration>\(item.identity.isMultiple(of: 3) ? "\(seconds)" : clock)</itunes:duration>"
        }
        return text + "<description>\(escaped(item.notes))</description></item>"
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
    }

    private static func spelled(_ date: PublicationDate, _ spelling: Int) -> String {
        var local = time_t(date.seconds + Int64(date.offset))
        var parts = tm()
        gmtime_r(&local, &parts)
        let minutes = abs(date.offset) / 60
        let clock = "\(padded(parts.tm_hour)):\(padded(parts.tm_min)):\(padded(parts.tm_sec))"
        let sign = date.offset < 0 ? "-" : "+"
        if spelling == 2 {
            let day = "\(1900 + parts.tm_year)-\(padded(parts.tm_mon + 1))-\(padded(parts.tm_mday))"
            return day + "T" + clock + sign + padded(minutes / 60) + ":" + padded(minutes % 60)
        }
        var zone = sign + padded(minutes / 60) + padded(minutes % 60)
        if spelling == 1, date.offset == 0 { zone = "GMT" }
        if spelling == 1, date.offset == -18_000 { zone = "EST" }
        let weekday = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][Int(parts.tm_wday)]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let month = months[Int(parts.tm_mon)]
        return "\(weekday), \(padded(parts.tm_mday)) \(month) \(1900 + parts.tm_year) \(clock) \(zone)"
    }

    private static func padded(_ number: some BinaryInteger) -> String { number < 10 ? "0\(number)" : "\(number)" }

    /// Encodes the text in Windows-1252; `nil` if it contains other characters.
    private static func windows1252(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        for scalar in text.unicodeScalars {
            switch scalar {
            case "–": bytes.append(0x96)
            case "“": bytes.append(0x93)
            case "”": bytes.append(0x94)
            default:
                guard scalar.value < 0x80 || (0xA0...0xFF).contains(scalar.value) else { return nil }
                bytes.append(UInt8(scalar.value))
            }
        }
        return bytes
    }
}
