import Foundation
import TestSupport

/// The expected state of one node of the mounted tree.
struct ModelNode: Sendable {
    enum Kind: String, Sendable {
        case folder
        case file
        case link
    }

    enum Content: Sendable {
        case none
        case bytes([UInt8])
        /// The content of an episode's file on its server.
        case media(TestContent)
        /// A tag made by podfs, then the part of an episode's file that follows the original tag.
        case tagged(TestContent, title: String)
        /// A check that returns a description of an error in the bytes, or `nil`.
        case judged(@Sendable ([UInt8]) -> String?)
    }

    var kind: Kind
    var inode: UInt64
    var permissions: UInt32
    var sizes: ModelRange
    /// The allocated size in units of 512 bytes.
    var blocks: ModelRange
    var modified: ModelRange
    var content = Content.none
    var attributes: [String: ModelText] = [:]
    /// The target of a link.
    var target: String?
    /// The library's id of the node's episode.
    var episode: Int64?
    /// The library's id of the node's show.
    var show: Int64?

    var links: UInt32 { kind == .folder ? 2 : 1 }

    init(folder inode: UInt64, modified: ModelRange) {
        kind = .folder
        self.inode = inode
        permissions = 0o555
        sizes = .exactly(4_096)
        blocks = .exactly(8)
        self.modified = modified
    }

    init(file inode: UInt64, _ content: Content, modified: ModelRange) {
        kind = .file
        self.inode = inode
        permissions = 0o444
        self.content = content
        self.modified = modified
        if case .bytes(let bytes) = content {
            sizes = .exactly(Int64(bytes.count))
            blocks = .exactly(Int64(bytes.count + 511) / 512)
        } else {
            sizes = .between(1, 1 << 24)
            blocks = .between(1, 1 << 15)
        }
    }
}

/// An expected number: a known one, or several possible ones.
enum ModelRange: Sendable, CustomStringConvertible {
    case exactly(Int64)
    case between(Int64, Int64)
    case oneOf(Set<Int64>)

    init(_ range: ClosedRange<Int64>) {
        self = range.count == 1 ? .exactly(range.lowerBound) : .between(range.lowerBound, range.upperBound)
    }

    func contains(_ value: Int64) -> Bool {
        switch self {
        case .exactly(let expected): value == expected
        case .between(let first, let last): value >= first && value <= last
        case .oneOf(let values): values.contains(value)
        }
    }

    var description: String {
        switch self {
        case .exactly(let expected): "\(expected)"
        case .between(let first, let last): "\(first) to \(last)"
        case .oneOf(let values): "one of \(values.sorted())"
        }
    }
}

/// An expected extended attribute: a known text, or several possible ones.
enum ModelText: Sendable, CustomStringConvertible {
    case exactly(String)
    case oneOf(Set<String>)
    /// The decimal form of a number.
    case number(ModelRange)
    /// A time in ISO 8601.
    case moment(ClosedRange<Int64>)
    case anything
    /// Any text, or no attribute.
    case optional

    func accepts(_ text: String?) -> Bool {
        guard let text else {
            if case .optional = self { return true }
            return false
        }
        switch self {
        case .exactly(let expected): return text.utf8.elementsEqual(expected.utf8)
        case .oneOf(let values): return values.contains(text)
        case .number(let range): return Int64(text).map(range.contains) ?? false
        case .moment(let range):
            let date = ISO8601DateFormatter().date(from: text)
            return date.map { range.contains(Int64($0.timeIntervalSince1970)) } ?? false
        case .anything, .optional: return true
        }
    }

    var description: String {
        switch self {
        case .exactly(let expected): "“\(expected)”"
        case .oneOf(let values): "one of \(values.sorted())"
        case .number(let range): "\(range)"
        case .moment(let range): "a moment \(range)"
        case .anything: "anything"
        case .optional: "anything or nothing"
        }
    }
}

/// A name in a listing.
struct ModelName: Sendable, Equatable {
    var name: String
    var inode: UInt64
    var kind: ModelNode.Kind
}
