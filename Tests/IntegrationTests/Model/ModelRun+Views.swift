import TestSupport

// Random changes of views and tags by podfs commands.
extension ModelRun {
    private mutating func run(_ arguments: [String]) async throws {
        note(arguments.joined(separator: " "))
        let result = try await subject.home.run(arguments)
        if result.exitCode != 0 { throw difference("\(arguments) succeeds", result.error) }
        isDaemonAlive = true
        changed()
    }

    /// Creates, changes or removes a view, and then compares its folder with the model.
    mutating func changeViews() async throws {
        let own = library.views.filter { $0.name.hasPrefix("View ") }
        if let view = pick(own), own.count > 6 || chance(20) { return try await remove(view) }
        var view: ModelView
        if let known = pick(library.views), own.count > 4 || chance(40) {
            view = known
        } else {
            view = library.addView("View \(number)")
        }
        // The standard views are changed too, except for the one whose order is not modeled.
        if view.isOldestFirst == nil { return }
        view.isUnplayed = pick([nil, nil, true, false]) ?? nil
        view.isInProgress = pick([nil, nil, nil, true, false]) ?? nil
        view.isPinned = pick([nil, nil, nil, true, false]) ?? nil
        view.isDownloaded = chance(20)
        view.tag = chance(25) ? pick(library.visibleTags)?.uppercased() : nil
        view.show = chance(20) ? pick(library.shows)?.name : nil
        view.isOldestFirst = chance(40)
        view.limit = pick([nil, 1, 3, 10, 200]) ?? nil
        try await closeFolders(in: view.name)
        try await run(["view", "set", view.name] + view.assignments)
        library.views.removeAll { $0.id == view.id }
        library.views.append(view)
        try await compareStatus([view.name])
        try await list([view.name])
    }

    private mutating func remove(_ view: ModelView) async throws {
        try await closeFolders(in: view.name)
        try await run(["view", "remove", view.name.lowercased()])
        library.views.removeAll { $0.id == view.id }
        try await compareStatus([view.name])
        if let (_, link) = pick(tree.links(view)) { try await compareStatus([view.name, link]) }
    }

    /// Returns the path of a link to an episode in a view. Views of downloaded episodes are excluded, because downloads
    /// complete at any time.
    mutating func anyLink(to episode: Int64) -> [String]? {
        let views = library.views.filter { !$0.isDownloaded }
        return pick(
            views.flatMap { view in
                tree.links(view).filter { $0.0.id == episode }.map { [view.name, $0.1] }
            })
    }

    /// Closes the open folders at and below `top`. After a change they could list the old or the new names.
    private mutating func closeFolders(in top: String) async throws {
        for folder in folders where folder.path.first == top { try await subject.closeFolder(folder.folder) }
        folders.removeAll { $0.path.first == top }
    }

    /// Replaces the tags of a show by up to two existing tags and often a new one.
    mutating func changeTags() async throws {
        guard let show = pick(library.shows) else { return }
        let tags =
            some(Int.random(in: 0...2, using: &generator), of: library.visibleTags)
            + (chance(60) ? ["Tag \(number)"] : [])
        try await closeFolders(in: "Tags")
        try await run(["set", show.name, "tags=\(tags.joined(separator: ", "))"])
        library.setTags(tags, of: show.id)
        try await list(["Tags"])
        for view in library.views where view.tag != nil { try await list([view.name]) }
    }
}
