extension FeedReader {
    /// The ranks of the open item's fields, or of the show's if no item is open.
    var ranks: FieldRanks { isInItem ? current.ranks : show.ranks }

    /// Sets a field, unless it has a value from a source of equal or better rank.
    mutating func set(_ field: FeedField, _ rank: UInt8, _ text: FeedBytes?) {
        guard let text, ranks.wants(field, rank) else { return }
        if isInItem {
            if setInItem(field, rank, text) { current.ranks.set(field, rank) }
        } else if setInShow(field, text) {
            show.ranks.set(field, rank)
        }
    }

    /// - Returns: Whether the text is a value of the field.
    private mutating func setInItem(_ field: FeedField, _ rank: UInt8, _ text: FeedBytes) -> Bool {
        switch field {
        case .title: return Self.set(&current.item.title, Self.title(text))
        case .author: return Self.set(&current.item.author, Self.author(text))
        case .description: return Self.set(&current.item.description, FeedValues.string(text))
        case .link: return Self.set(&current.item.link, url(text))
        case .image: return Self.set(&current.item.image, url(text))
        case .guid:
            guard Self.set(&current.item.guid, FeedValues.string(text)) else { return false }
            current.guidIsLink = current.guidIsLink && rank == 0
            return true
        case .published: return Self.set(&current.item.published, date(text.trimmed))
        case .duration:
            let seconds = number("duration", text.trimmed, "cannot be read") { FeedValues.seconds($0) }
            return Self.set(&current.item.duration, seconds == 0 ? nil : seconds)
        case .season:
            return Self.set(&current.item.season, number("season", text.trimmed) { FeedValues.wholeNumber($0) })
        case .episode:
            return Self.set(&current.item.episode, number("episode", text.trimmed) { FeedValues.decimalNumber($0) })
        case .language: return false
        }
    }

    private mutating func setInShow(_ field: FeedField, _ text: FeedBytes) -> Bool {
        switch field {
        case .title: Self.set(&show.feed.title, Self.title(text))
        case .author: Self.set(&show.feed.author, Self.author(text))
        case .description: Self.set(&show.feed.description, FeedValues.string(text))
        case .language: Self.set(&show.feed.language, FeedValues.string(text))
        case .link: Self.set(&show.feed.link, url(text))
        case .image: Self.set(&show.feed.image, url(text))
        case .guid, .published, .duration, .season, .episode: false
        }
    }

    private static func set<Value>(_ property: inout Value?, _ value: Value?) -> Bool {
        if let value { property = value }
        return value != nil
    }

    private static func title(_ text: FeedBytes) -> String? { FeedValues.line(text).flatMap(PlainLine.withoutTags) }

    private static func author(_ text: FeedBytes) -> String? {
        FeedValues.line(text).map(PlainLine.person).flatMap(PlainLine.withoutTags)
    }

    private mutating func date(_ text: FeedBytes) -> PublicationDate? {
        if text.isEmpty { return nil }
        guard let (date, assumption) = PublicationDate.read(text) else {
            diagnose("the date “\(Self.excerpt(text))” cannot be read")
            return nil
        }
        if let assumption { diagnose("the date “\(Self.excerpt(text))”: \(assumption)") }
        return date
    }

    private mutating func number<Number>(
        _ name: String, _ text: FeedBytes, _ problem: String = "is not a number", _ parse: (FeedBytes) -> Number?
    ) -> Number? {
        if text.isEmpty { return nil }
        let number = parse(text)
        if number == nil { diagnose("the \(name) “\(Self.excerpt(text))” \(problem)") }
        return number
    }

    /// Sets the description from base64.
    mutating func setBase64(_ text: FeedBytes) {
        guard let decoded = Base64.decoded(text) else { return diagnose("base64 text cannot be decoded") }
        let clean = decoded.withUnsafeBufferPointer(UTF8Cleaner.cleaned)
        (self.text.isPlain ? FeedValues.escaped(clean) : clean).withUnsafeBufferPointer { set(.description, 0, $0) }
    }

    // MARK: Text

    /// Returns a URL, resolved against the base URL if there is one; `nil` if it is missing, empty or exceeds a limit.
    mutating func url(_ text: FeedBytes?) -> String? {
        guard let text else { return nil }
        return urls.resolve(text, base: stack.base)
    }

    /// Returns the value of an attribute as a displayable line; `nil` if it is missing or blank.
    func line(_ attribute: FeedBytes?) -> String? {
        attribute.flatMap { FeedValues.line(UTF8Cleaner.prefix($0, limits.line)) }
    }

    /// Returns the value of an attribute as an identifier, without white space around it; `nil` if it is missing or
    /// blank.
    func word(_ attribute: FeedBytes?) -> String? {
        attribute.flatMap { FeedValues.string(UTF8Cleaner.prefix($0, limits.line)) }
    }

    /// Returns the value of an attribute as a keyword in lower case; `nil` if it is missing or blank.
    func keyword(_ attribute: FeedBytes?) -> String? { word(attribute)?.lowercased() }

    /// Returns a keyword in lower case; `nil` if it is blank or, with a diagnostic, unknown.
    mutating func word(_ text: FeedBytes, among known: [String], _ name: String) -> String? {
        guard let word = FeedValues.string(text)?.lowercased() else { return nil }
        if known.contains(word) { return word }
        diagnose("the \(name) “\(Self.excerpt(word.utf8))” is unknown")
        return nil
    }

    /// Returns the beginning of a text, for a diagnostic.
    static func excerpt(_ text: some Collection<UInt8>) -> String {
        let whole = String(decoding: text.prefix(160), as: UTF8.self)
        return whole.count > 40 ? whole.prefix(40) + "…" : whole
    }

    /// Sets the image from art that may state its width in pixels. The smallest of at least ``FieldRanks/artWidth``
    /// replaces any other image, because a page of two hundred covers of 3,000 pixels takes a browser seconds.
    mutating func setArt(_ rank: UInt8, _ text: FeedBytes?, width: Int64) {
        if isInItem { current.ranks.preferArt(ofWidth: width) } else { show.ranks.preferArt(ofWidth: width) }
        set(.image, width >= FieldRanks.artWidth ? 0 : rank, text)
    }

    /// Returns the best image of a `srcset` (URLs with widths, such as `1500w`, separated by commas), and its width, 0
    /// if it has none: the smallest of at least ``FieldRanks/artWidth``, else the widest.
    static func art(ofSet set: FeedBytes) -> (url: FeedBytes, width: Int64)? {
        var candidates: [(url: FeedBytes, width: Int64)] = []
        for word in set.split(whereSeparator: \.isXMLSpace) {
            let text = FeedBytes(rebasing: word.last == UInt8(ascii: ",") ? word.dropLast() : word)
            if text.last == UInt8(ascii: "w"), let width = FeedValues.length(text.dropLast()), !candidates.isEmpty {
                candidates[candidates.count - 1].width = width
            } else if !text.isEmpty {
                candidates.append((text, 0))
            }
        }
        func fitness(_ width: Int64) -> Int64 { width >= FieldRanks.artWidth ? .max - width : width }
        return candidates.max { fitness($0.width) < fitness($1.width) }
    }
}

extension Array where Element: Equatable {
    /// Appends an element, unless the list is full or contains it. A list of more than 64 elements is not searched for
    /// duplicates: doing so for each of a million elements takes seconds.
    mutating func add(_ element: Element, limit: Int) {
        guard count < limit, count > 64 || !contains(element) else { return }
        append(element)
    }
}
