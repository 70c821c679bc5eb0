internal import PodcastFeed
internal import PodcastLibrary

// The facts of `podcast:` elements: people, places, licenses, funding, trailers, recommendations and other encodings.
extension ShowPage {
    /// The maximum number of entries shown for each kind of fact; feeds may have hundreds.
    private static let limit = 20

    func facts(_ details: ShowDetails) -> Markup {
        let recommended = details.podroll.filter { $0.feedURL != nil }
        return """
            \(persons(details.persons))\(facts(locations: details.locations, license: details.license))\
            \(list("Support", details.funding) { name($0.title ?? "Support", link: $0.url) })\
            \(list("Trailers", details.trailers, trailer))\
            \(list("Recommended", recommended) { name($0.title ?? $0.feedURL ?? "", link: $0.feedURL) })
            """
    }

    private func trailer(_ trailer: Trailer) -> Markup {
        let season = trailer.season.map { " (season \($0))" as Markup }
        return "\(name(trailer.title ?? "Trailer", link: trailer.media.url))\(season)"
    }

    func facts(_ details: EpisodeDetails) -> Markup {
        let season = details.seasonName.map { name in details.season.map { "Season \($0): \(name)" } ?? name }
        let line = [season, details.episodeDisplay].compactMap(\.self).joined(separator: " · ")
        return """
            \(season == nil && details.episodeDisplay == nil ? nil : Self.line(line))\(persons(details.persons))\
            \(facts(locations: details.locations, license: details.license))\(Self.soundbites(details.soundbites))\
            \(list("Discussion", details.discussions) { name($0.network, link: $0.url) })\
            \(list("Also at", details.links) { name($0.title ?? $0.url, link: $0.url) })
            """
    }

    /// Returns the other encodings as links to their files.
    func alternates(of episode: EpisodeSummary) -> Markup? {
        let folder = FileName.stem(ofFile: episode.name)
        return list("Also as", episode.alternates) { alternate in
            let name = FileName.stem(ofFile: alternate.name)
            // The name usually contains the language.
            let language = alternate.language.flatMap { name.split(separator: " ").contains(Substring($0)) ? nil : $0 }
            let facts = [alternate.type, language, Self.text(of: alternate.size)].compactMap(\.self)
                .filter { !$0.isEmpty }
            return """
                <a href="\(path: Alternate.folder, folder, alternate.name)">\(name)</a>\
                \(facts.isEmpty ? "" : " (\(facts.joined(separator: ", ")))")
                """
        }
    }

    private func persons(_ persons: [Person]) -> Markup? {
        list("With", persons) { "\(name($0.name, link: $0.link)) (\($0.role))" }
    }

    private func facts(locations: [Location], license: License?) -> Markup {
        let places = locations.prefix(Self.limit).map(\.name).joined(separator: ", ")
        let terms = list("License", license.map { [$0] } ?? []) { name($0.name, link: $0.url) }
        return "\(places.isEmpty ? nil : Self.line("Place: \(places)"))\(terms)"
    }

    /// Returns a name, as a link if it has an allowed address.
    private func name(_ name: String, link address: String?) -> Markup { link(address, text: name) ?? "\(name)" }

    /// Returns a button for each soundbite, like those of the chapters. It plays the episode from the soundbite.
    private static func soundbites(_ soundbites: [Soundbite]) -> Markup? {
        let bites = soundbites.filter { $0.start.isFinite && $0.start >= 0 }.prefix(limit)
        if bites.isEmpty { return nil }
        let buttons = bites.map { button(at: $0.start, text: $0.title ?? "\(Int($0.duration.rounded())) seconds") }
        return "<p class=\"facts\">Soundbites</p><ol class=\"chapters soundbites\">\(buttons)</ol>\n"
    }

    private static func line(_ text: String) -> Markup {
        "<p class=\"facts line\"><span dir=\"auto\">\(text)</span></p>\n"
    }

    private func list<Element>(_ name: String, _ elements: [Element], _ entry: (Element) -> Markup) -> Markup? {
        if elements.isEmpty { return nil }
        let entries = elements.prefix(Self.limit).map { "<span dir=\"auto\">\(entry($0))</span>" as Markup }
        return "<p class=\"facts line\"><span>\(name):</span>\(entries)</p>\n"
    }
}
