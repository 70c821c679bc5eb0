/// The properties of a show that its generated files contain, other than art, name and description.
package struct ShowDetails: Sendable, Equatable, Codable {
    package var persons: [Person] = []
    package var funding: [WebLink] = []
    package var trailers: [Trailer] = []
    package var podroll: [RemoteItem] = []
    package var locations: [Location] = []
    package var license: License?
    /// `true` if the publisher asks podcast directories not to list the show, otherwise `nil`.
    package var isBlocked: Bool?
}

/// The properties of an episode that the generated files of its show contain, other than title, date and notes.
package struct EpisodeDetails: Sendable, Equatable, Codable {
    package var season: Int?
    package var seasonName: String?
    package var episodeDisplay: String?
    package var persons: [Person] = []
    package var soundbites: [Soundbite] = []
    package var locations: [Location] = []
    package var license: License?
    package var discussions: [SocialInteract] = []
    package var links: [WebLink] = []
    /// `true` if the publisher asks podcast directories not to list the episode, otherwise `nil`.
    package var isBlocked: Bool?
}

package extension Feed {
    /// The details of the show; `nil` if the feed has none of them.
    var details: ShowDetails? {
        let details = ShowDetails(
            persons: persons, funding: funding, trailers: trailers, podroll: podroll, locations: tags.locations,
            license: tags.license, isBlocked: isBlocked ? true : nil)
        return details == ShowDetails() ? nil : details
    }
}

package extension Item {
    /// The details of the episode; `nil` if the item has none of them, or only a season number.
    var details: EpisodeDetails? {
        var details = EpisodeDetails(
            seasonName: seasonName, episodeDisplay: episodeDisplay, persons: persons, soundbites: soundbites,
            locations: tags.locations, license: tags.license,
            discussions: tags.socialInteracts.filter { $0.url != nil }, links: tags.contentLinks,
            isBlocked: isBlocked ? true : nil)
        if details == EpisodeDetails() { return nil }
        details.season = season
        return details
    }
}
