internal import Platform
package import PodcastFeed

/// A template of episode names: text with fields in braces, such as `{date} {title}`.
///
/// A field without a value is omitted together with the text between it and the next field, so that an undated episode
/// is named `Title` and not ` Title`.
package struct NameTemplate: Sendable, Equatable {
    /// The fields of a template.
    package enum Field: String, CaseIterable, Sendable {
        /// The day of publication in the feed's own time zone, `2026-11-20`.
        case date = "date"
        case title = "title"
        case season = "season"
        case episode = "episode"
        /// The show's title.
        case show = "show"
    }

    /// A field of the template, or its end, with the text before it.
    private struct Part: Sendable, Equatable {
        var text: String
        var field: Field?
    }

    /// The default template.
    package static let standard = NameTemplate(
        text: "{date} {title}", parts: [Part(text: "", field: .date), Part(text: " ", field: .title), Part(text: "")])

    /// The text of the template.
    package let text: String
    /// Whether the names are also valid for Windows, Samba, FAT and exFAT.
    package private(set) var isPortable = false
    private let parts: [Part]

    private init(text: String, parts: [Part]) {
        self.text = text
        self.parts = parts
    }

    /// Parses a template.
    ///
    /// - Throws: `SettingError` with the reason why the template is rejected.
    package init(_ text: String) throws(SettingError) {
        let known = "the known fields are " + Field.allCases.map { "{\($0.rawValue)}" }.joined(separator: ", ")
        var parts: [Part] = []
        var rest = Substring(text)
        while let open = rest.firstIndex(of: "{") {
            let body = rest[rest.index(after: open)...]
            guard let close = body.firstIndex(of: "}") else {
                throw SettingError(message: "'{' without '}' in the name template at '{\(body)'")
            }
            guard let field = Field(rawValue: String(body[..<close])) else {
                throw SettingError(message: "unknown field {\(body[..<close])} in the name template; \(known)")
            }
            parts.append(Part(text: String(rest[..<open]), field: field))
            rest = body[body.index(after: close)...]
        }
        if parts.isEmpty { throw SettingError(message: "the name template has no field; \(known)") }
        parts.append(Part(text: String(rest)))
        self.init(text: text, parts: parts)
    }

    /// Returns the template with or without portable names.
    package func portable(_ isPortable: Bool) -> NameTemplate {
        var template = self
        template.isPortable = isPortable
        return template
    }

    /// Returns the name of a show's folder, before it is made unique.
    package func folder(_ title: String) -> String { portableIfNeeded(FileName.stem(title)) }

    private func portableIfNeeded(_ stem: String) -> String { isPortable ? FileName.portable(stem) : stem }

    /// Returns the stem of an episode's name, before it is made unique.
    ///
    /// If the stem is too long, the title is cut, so that the text after the title stays.
    package func stem(for item: Item, show: String) -> String {
        var title = FileName.normalized(FileName.replacing(item.title ?? ""))
        if title.isEmpty { title = FileName.untitled }
        let whole = render(item, title: title, show: show)
        let excess = whole.utf8.count - FileName.stemLimit
        if excess > 0 {
            let room = max(title.utf8.count - excess, 1)
            title = FileName.trimmed(FileName.cut(title, to: room))
            return portableIfNeeded(FileName.stem(render(item, title: title, show: show)))
        }
        return portableIfNeeded(FileName.stem(whole))
    }

    private func render(_ item: Item, title: String, show: String) -> String {
        var result = ""
        /// The text since the last field with a value. It is added before the next field with a value. At the end it
        /// is added only if the last field has a value.
        var pending = ""
        var afterMissing = false
        for part in parts {
            if !afterMissing {
                pending += part.text
            } else if let last = pending.last, let closing = Self.brackets[last], part.text.first == closing {
                // The text after a missing field is omitted, and so are the brackets around the field.
                pending = String(pending.dropLast() + part.text.dropFirst())
                if pending.allSatisfy(\.isWhitespace) { pending = pending.isEmpty ? "" : " " }
            }
            guard let field = part.field else { break }
            let value = value(of: field, item: item, title: title, show: show)
            afterMissing = value == nil
            if let value {
                result += pending + value
                pending = ""
            }
        }
        return afterMissing ? result : result + pending
    }

    /// The opening brackets and their closing ones.
    private static let brackets: [Character: Character] = ["(": ")", "[": "]", "<": ">"]

    private func value(of field: Field, item: Item, title: String, show: String) -> String? {
        switch field {
        case .title: title
        case .date: item.published?.day?.description
        case .season: item.season.map(String.init)
        case .episode: item.episode.flatMap(Self.decimal)
        case .show: show.isEmpty ? nil : show
        }
    }

    /// Returns `12` for 12.0 and `315.5` for 315.5.
    static func decimal(_ number: Double) -> String? {
        guard number.isFinite else { return nil }
        if let whole = Int64(exactly: number) { return String(whole) }
        return String(number)
    }
}
