/// A property that several elements can supply.
enum FeedField: UInt64 {
    case title, link, guid, description, published, duration, season, episode, image, author, language
}

/// The rank of each field's source, so that `content:encoded` replaces `description` in whatever order they occur.
///
/// Each field has four bits: a rank from 0, the best, to 14; or 15 while the field has no value.
struct FieldRanks {
    private var bits: UInt64 = .max

    /// Returns whether a value of this rank is better than the current one; a value of equal rank is not.
    func wants(_ field: FeedField, _ rank: UInt8) -> Bool {
        UInt64(rank) < (bits >> (field.rawValue * 4)) & 15
    }

    /// Records the rank of the current value.
    mutating func set(_ field: FeedField, _ rank: UInt8) {
        bits = bits & ~(15 << (field.rawValue * 4)) | UInt64(rank) << (field.rawValue * 4)
    }
}

extension FeedHandler {
    /// The field that the element supplies, and the rank of this source.
    var field: (FeedField, rank: UInt8)? {
        switch self {
        case .title: (.title, 0)
        case .itunesTitle: (.title, 1)
        case .mediaTitle: (.title, 2)
        case .link: (.link, 0)
        case .guid: (.guid, 0)
        case .atomID: (.guid, 1)
        case .content: (.description, 0)
        case .description: (.description, 1)
        case .summary: (.description, 2)
        case .mediaDescription: (.description, 3)
        case .subtitle: (.description, 4)
        case .pubDate: (.published, 0)
        case .dcDate: (.published, 1)
        case .updated: (.published, 2)
        case .duration: (.duration, 0)
        case .podcastSeason: (.season, 0)
        case .itunesSeason: (.season, 1)
        case .podcastEpisode: (.episode, 0)
        case .itunesEpisode: (.episode, 1)
        case .imageAttribute: (.image, 0)
        case .podcastImage: (.image, 1)
        case .imagesAttribute: (.image, 2)
        case .imageURL: (.image, 3)
        case .mediaThumbnail: (.image, 4)
        case .imageText: (.image, 5)
        case .resourceImage: (.image, 6)
        case .author: (.author, 0)
        case .dcCreator: (.author, 1)
        case .coreAuthor: (.author, 2)
        case .ownerName: (.author, 3)
        case .language: (.language, 0)
        case .dcLanguage: (.language, 1)
        default: nil
        }
    }
}
