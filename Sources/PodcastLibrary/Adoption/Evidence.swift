/// A reason to believe that a file is an episode's. The raw value is the phrase that people read.
enum Evidence: String, Hashable {
    /// The database of the program that downloaded the file.
    case record = "the program's database"
    case identifierTag = "podcast identifier in the tags"
    /// The last component of the media URL, or the same text as an id in brackets.
    case url = "file name in the feed"
    case mountName = "name in podfs"
    case title = "title"
    case titleTag = "title in the tags"
    /// The beginning of a long title.
    case cutTitle = "beginning of the title"
    /// Nothing but the date, besides the show.
    case onlyDay = "only the date"
    case confirmedSize = "size of the server's file"
    case feedSize = "size in the feed"
    /// The size in the feed, if the feed states the sizes of all episodes of the show, and no other has this one.
    case onlySize = "exact size in the feed"
    case day = "date"
    case duration = "duration"
    case showInName = "show in the name"
    case folder = "folder of the show"
    case album = "album of the show"
    case givenShow = "--show"
    /// A long name that occurs once in the library, in place of the show's.
    case distinctive = "long and unique"
    /// The text of a title or URL, if a program has dropped a period between two digits: `15` for `1.5`.
    case joinedNumber = "number without a period"
    /// The text of a title or URL, but with other numbers, or after a counter was removed.
    case similar = "similar name"

    /// The weight: an adoption needs the sum 6. Either of the first two suffices alone; a name or title needs the
    /// show, the date, the size or the duration as well.
    var weight: Int {
        switch self {
        case .record, .identifierTag: 8
        case .url, .mountName, .title, .titleTag, .cutTitle, .onlyDay, .confirmedSize, .onlySize: 4
        case .feedSize, .day, .duration: 3
        case .showInName, .folder, .album, .givenShow, .distinctive, .joinedNumber: 2
        case .similar: 1
        }
    }

    /// Whether it says which episode the file is, unlike a size or a duration, which episodes of equal length share.
    var isNaming: Bool {
        switch self {
        case .record, .identifierTag, .url, .mountName, .title, .titleTag, .cutTitle, .onlyDay, .joinedNumber, .similar:
            true
        default: false
        }
    }

    /// The sizes in bytes.
    static let sizes: Set<Evidence> = [.confirmedSize, .feedSize, .onlySize]

    /// Evidence that a stricter reading of the same name replaces.
    static let loose: Set<Evidence> = [.similar, .joinedNumber, .cutTitle, .onlyDay]
}
