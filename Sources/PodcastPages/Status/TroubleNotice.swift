internal import Platform
package import PodcastLibrary

/// A notice about a feed that may never return: what is wrong, and what would be lost with it.
package struct TroubleNotice: Sendable {
    package let trouble: FeedTrouble
    package let unsaved: UnsavedEpisodes
    /// The name of the show's folder.
    let show: String
    /// Whether podfs archives the show already.
    var isArchived = false

    /// The notice as one or two sentences.
    package var text: String { "\(reason); \(loss)." }

    private var reason: String {
        switch trouble {
        case .gone: "The feed is gone from its server"
        case .unauthorised: "The server does not let podfs read the feed"
        case .empty: "The feed has listed no episode for a month"
        case .certificate: "The certificate of the feed's server is not valid"
        case .unreachable: "The feed's server has not been reached for a week"
        }
    }

    private var loss: String {
        guard unsaved.count > 0 else { return "all its episodes are on this computer" }
        let size = unsaved.bytes > 0 ? " (about \(ByteText.size(unsaved.bytes)))" : ""
        let state =
            "\(WholeNumber.text(unsaved.count)) \(unsaved.count == 1 ? "episode is" : "episodes are") only on the "
            + "server\(size)"
        let name = ShellQuoting.quoted(show)
        let download = "podfs download \(name)"
        return state
            + (isArchived
                ? ": \(download) saves what is left"
                : ": podfs set \(name) archive=true and \(download) save what is left")
    }
}

extension TroubleNotice {
    /// Returns the notice for a show; `nil` if no trouble was announced, or it has ended.
    package init?(of show: Podcast, in library: Library) throws {
        guard let trouble = show.trouble.announced else { return nil }
        self.init(
            trouble: trouble, unsaved: try library.unsavedEpisodes(of: show.id), show: show.name,
            isArchived: try library.settings(of: show.id)["archive"] == "true")
    }
}
