import TestSupport

/// A view in a `ModelLibrary`, the library that a test expects. It has conditions, an order and a limit, as in
/// `podfs view set`.
struct ModelView: Sendable {
    /// The id of the view's row in the library.
    let id: Int64
    let name: String
    var isUnplayed: Bool?
    var isInProgress: Bool?
    var isPinned: Bool?
    /// Whether the view contains downloaded episodes only.
    var isDownloaded = false
    var tag: String?
    /// The name of a show's folder, or its title.
    var show: String?
    /// Whether the oldest episodes come first; `nil` for `order=recently_played`, which is not modelled.
    var isOldestFirst: Bool? = false
    var limit: Int? = 200

    /// The arguments of `podfs view set` that turn any view into this one, unless its order is `recently_played`.
    var assignments: [String] {
        func flag(_ name: String, _ value: Bool?) -> String { "\(name)=\(value.map { "\($0)" } ?? "")" }
        return [
            flag("unplayed", isUnplayed), flag("in_progress", isInProgress), flag("pinned", isPinned),
            "downloaded=\(isDownloaded ? "true" : "")", "tag=\(tag ?? "")", "show=\(show ?? "")",
            "order=\(isOldestFirst == true ? "oldest" : "newest")", "limit=\(limit.map { "\($0)" } ?? "none")",
        ]
    }

    func contains(_ episode: ModelEpisode, of show: ModelShow) -> Bool {
        if let isUnplayed, isUnplayed == episode.isPlayed { return false }
        let hasBegun = !episode.isPlayed && episode.position ?? 0 >= 30
        if let isInProgress, isInProgress != hasBegun { return false }
        if let isPinned, isPinned != episode.isPinned { return false }
        if isDownloaded, episode.phase != .cached { return false }
        if let tag, !show.tags.contains(where: { $0.lowercased() == tag.lowercased() }) { return false }
        if let name = self.show?.lowercased(), show.name.lowercased() != name, show.feed.title.lowercased() != name {
            return false
        }
        return true
    }
}

// Views and tags.
extension ModelLibrary {
    /// The views of a new library.
    static let standardViews: [ModelView] = {
        var views = zip(1..., ["Latest", "Downloaded", "Unplayed", "In Progress"]).map { ModelView(id: $0, name: $1) }
        views[0].limit = 50
        (views[1].isDownloaded, views[1].limit) = (true, nil)
        views[2].isUnplayed = true
        (views[3].isInProgress, views[3].isOldestFirst) = (true, nil)
        return views
    }()

    func view(_ name: String) -> ModelView? { views.first { $0.name.utf8.elementsEqual(name.utf8) } }

    /// Returns the episodes of a view in its order; newest first for `recently_played`, which is not modelled.
    func episodes(of view: ModelView) -> [(ModelEpisode, ModelShow)] {
        let all = shows.flatMap { show in show.episodes.map { ($0, show) } }.filter { view.contains($0.0, of: $0.1) }
        let sorted = all.sorted { one, other in
            // Undated episodes were first seen in this run, which is after all dates of the feeds.
            let first = one.0.item.published ?? .max
            let second = other.0.item.published ?? .max
            return first != second ? first > second : one.0.id > other.0.id
        }
        return Array((view.isOldestFirst == true ? sorted.reversed() : sorted).prefix(view.limit ?? .max))
    }

    /// The tags that shows have, sorted by name.
    var visibleTags: [String] {
        Set(shows.flatMap(\.tags)).sorted {
            Array($0.lowercased().utf8).lexicographicallyPrecedes(Array($1.lowercased().utf8))
        }
    }
}
