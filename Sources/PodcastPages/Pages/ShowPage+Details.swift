internal import PodcastFeed
internal import PodcastLibrary

// The facts of `podcast:` elements: people, places, licenses, funding, trailers, recommendations and other encodings.
extension ShowPage {
    /// The maximum number of entries shown for each kind of fact; feeds may have hundreds.
    private static let limit = 20

    mutating func addDetails(_ details: ShowDetails) {
        addPersons(details.persons)
        addFacts(locations: details.locations, license: details.license)
        addList("Support", details.funding) { page, funding in
            page.addName(funding.title ?? "Support", link: funding.url)
        }
        addList("Trailers", details.trailers) { page, trailer in
            page.addName(trailer.title ?? "Trailer", link: trailer.media.url)
            if let season = trailer.season { page.page.add(" (season \(season))") }
        }
        addList("Recommended", details.podroll.filter { $0.feedURL != nil }) { page, item in
            page.addName(item.title ?? item.feedURL ?? "", link: item.feedURL)
        }
    }

    mutating func addDetails(_ details: EpisodeDetails) {
        if details.seasonName != nil || details.episodeDisplay != nil {
            let season = details.seasonName.map { name in
                details.season.map { "Season \($0): \(name)" } ?? name
            }
            addLine(nil, [season, details.episodeDisplay].compactMap(\.self).joined(separator: " · "))
        }
        addPersons(details.persons)
        addFacts(locations: details.locations, license: details.license)
        addSoundbites(details.soundbites)
        addList("Discussion", details.discussions) { page, discussion in
            page.addName(discussion.network, link: discussion.url)
        }
        addList("Also at", details.links) { page, link in page.addName(link.title ?? link.url, link: link.url) }
    }

    /// Adds the other encodings as links to their files.
    mutating func addAlternates(of episode: EpisodeSummary) {
        let folder = FileName.stem(ofFile: episode.name)
        addList("Also as", episode.alternates) { page, alternate in
            page.page.add("<a href=\"")
            page.page.path(Alternate.folder, folder, alternate.name)
            page.page.add("\">")
            let name = FileName.stem(ofFile: alternate.name)
            page.page.text(name)
            page.page.add("</a>")
            // The name usually contains the language.
            let language = alternate.language.flatMap { name.split(separator: " ").contains(Substring($0)) ? nil : $0 }
            let facts = [alternate.type, language, Self.text(of: alternate.size)].compactMap(\.self)
                .filter { !$0.isEmpty }
            if !facts.isEmpty { page.page.text(" (\(facts.joined(separator: ", ")))") }
        }
    }

    private mutating func addPersons(_ persons: [Person]) {
        addList("With", persons) { page, person in
            page.addName(person.name, link: person.link)
            page.page.text(" (\(person.role))")
        }
    }

    private mutating func addFacts(locations: [Location], license: License?) {
        let places = locations.prefix(Self.limit).map(\.name).joined(separator: ", ")
        if !places.isEmpty { addLine("Place", places) }
        guard let license else { return }
        addList("License", [license]) { page, license in page.addName(license.name, link: license.url) }
    }

    /// Adds a name, as a link if it has an allowed address.
    private mutating func addName(_ name: String, link: String?) {
        if link.flatMap(SanitizedHTML.allowedAddress) != nil { addLink(link, text: name) } else { page.text(name) }
    }

    /// Adds a button for each soundbite, like those of the chapters. It plays the episode from the soundbite's start.
    private mutating func addSoundbites(_ soundbites: [Soundbite]) {
        let bites = soundbites.filter { $0.start.isFinite && $0.start >= 0 }.prefix(Self.limit)
        guard !bites.isEmpty else { return }
        page.add("<p class=\"facts\">Soundbites</p><ol class=\"chapters soundbites\">")
        for bite in bites {
            page.add("<li><button type=\"button\" data-start=\"\(bite.start)\">")
            page.add("<span>\(TimeText.clock(bite.start))</span><span dir=\"auto\">")
            page.text(bite.title ?? "\(Int(bite.duration.rounded())) seconds")
            page.add("</span></button></li>")
        }
        page.add("</ol>\n")
    }

    private mutating func addLine(_ name: String?, _ text: String) {
        page.add("<p class=\"facts line\"><span dir=\"auto\">")
        page.text(name.map { "\($0): \(text)" } ?? text)
        page.add("</span></p>\n")
    }

    private mutating func addList<Element>(
        _ name: String, _ elements: [Element], _ add: (inout ShowPage, Element) -> Void
    ) {
        guard !elements.isEmpty else { return }
        page.add("<p class=\"facts line\"><span>\(name):</span>")
        for element in elements.prefix(Self.limit) {
            page.add("<span dir=\"auto\">")
            add(&self, element)
            page.add("</span>")
        }
        page.add("</p>\n")
    }
}
