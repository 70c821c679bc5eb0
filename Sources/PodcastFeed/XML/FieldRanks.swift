/// A property that several elements can supply.
enum FeedField: UInt64 {
    case title, link, guid, description, published, duration, season, episode, image, author, language

    /// The kind of text in the field's elements.
    var text: FeedElement.Text {
        switch self {
        case .description: .html
        case .link, .image: .url
        default: .line
        }
    }
}

/// The rank of each field's source, so that `content:encoded` replaces `description` in whatever order they occur.
///
/// Each field has four bits: a rank from 0, the best, to 14; or 15 while the field has no value.
struct FieldRanks {
    private var bits: UInt64 = .max

    /// Returns whether a value of this rank is better than the current one; a value of equal rank is not.
    func wants(_ field: FeedField, _ rank: UInt8) -> Bool { UInt64(rank) < (bits >> (field.rawValue * 4)) & 15 }

    /// Records the rank of the current value.
    mutating func set(_ field: FeedField, _ rank: UInt8) {
        bits = bits & ~(15 << (field.rawValue * 4)) | UInt64(rank) << (field.rawValue * 4)
    }
}
