internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

// Settings of one show: `podfs set SHOW KEY=VALUE`.
extension Subscriptions {
    /// Changes settings of a show. All assignments are checked before the first is applied.
    ///
    /// - Parameter isConfirmed: whether to apply a `keep` that removes cached or played episodes.
    func set(_ id: ShowID, _ assignments: [String], isConfirmed: Bool) throws -> Reply {
        guard let podcast = try library.podcast(id: id) else { throw Failure(message: "there is no such show") }
        let changes = try assignments.map { try ShowSettingChange($0) }
        if changes.isEmpty { return .settings(try library.shownSettings(of: id)) }
        let before = settings(of: id).keep ?? configuration.keep
        let after = changes.last { $0.key == .keep }.map { $0.value.flatMap(Keep.init) ?? configuration.keep } ?? before
        var change: KeepChange?
        if after != before {
            change = try keepChange(of: podcast, to: after)
            if !isConfirmed { try refuseLosses(of: podcast, keep: after) }
        }
        try library.group {
            for change in changes {
                if change.key == .tags {
                    try library.setTags(try Tag.list(change.value ?? ""), of: id)
                } else {
                    try library.set(podcast: id, key: change.key.rawValue, value: change.value, now: now())
                }
            }
            // `tidy` restores the removed episodes that the library records as listed in the feed. By now the feed may
            // list others of them. To restore those, the next refresh has to fetch the whole feed, so it must not send
            // the validators (podfs.conf(5), `keep`).
            if !after.isWithin(before) { try library.clearValidators(of: id) }
        }
        refresher.feeds.removeJob(id)
        copies.subscriptionsChanged()
        try tidier.tidy(id)
        driver.changed(podcast: id, name: podcast.name)
        return .settings(try library.shownSettings(of: id), kept: change)
    }

    /// Returns how many episodes of a show a new `keep` would remove, and how many it would restore; `nil` if it would
    /// change nothing.
    private func keepChange(of podcast: Podcast, to keep: Keep) throws -> KeepChange? {
        let (staying, leaving) = try tidier.divide(podcast.id, keep)
        let removed = leaving.filter { !$0.isBuried }
        let returned = staying.count(where: \.isBuried)
        if removed.isEmpty, returned == 0 { return nil }
        return KeepChange(
            removed: removed.count, total: removed.count + staying.count - returned,
            bytes: removed.reduce(0) { $0 + $1.cachedBytes }, returned: returned)
    }

    /// Throws a `Failure` of kind `refused` if a new `keep` would remove cached or played episodes. Changes nothing.
    private func refuseLosses(of podcast: Podcast, keep: Keep) throws {
        let (staying, leaving) = try tidier.divide(podcast.id, keep)
        let gone = leaving.filter { !$0.isBuried }
        let cached = gone.filter { $0.cachedBytes > 0 }
        let played = gone.count(where: \.played)
        guard !cached.isEmpty || played > 0 else { return }
        let bytes = cached.reduce(Int64(0)) { $0 + $1.cachedBytes }
        let total = gone.count + staying.count { !$0.isBuried }
        var losses: [String] = []
        if !cached.isEmpty { losses.append("\(cached.count) of them cached (\(ByteText.size(bytes)))") }
        if played > 0 { losses.append("\(played) played") }
        throw Failure(
            kind: .refused,
            message: "keep='\(keep)' removes \(gone.count) of \(total) episodes of \(podcast.name), "
                + "\(losses.joined(separator: " and ")): nothing was changed; add --yes to go on")
    }
}
