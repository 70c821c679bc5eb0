internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import Transfers

// Events of the daemon: updates of tasks, and changes that require invalidations.
extension PodcastFilesystem {
    /// The times of the daemon's last events, in seconds of Unix time.
    struct EventTimes: Sendable {
        /// The time of the last event or connection; 0 before `start`. The invalidations for all changes up to that
        /// time have been sent.
        var moment: Int64 = 0
        /// The time of the last event of each show.
        var shows: [ShowID: Int64] = [:]
    }

    func handle(_ event: Event) {
        // The daemon sends a library event for the same change next, which is handled below.
        if event.kind == .listening { return }
        defer { options.onWork() }
        eventTimes.withLock { $0.moment = now }
        live.apply(event)
        // Progress events are frequent and change no name.
        recordChange(ofNames: event.kind != .progress)
        let changesPages = event.kind == .library || event.kind == .completed
        if event.kind != .progress { refreshViews() }
        if let episode = event.episode {
            guard let place = try? library.place(of: episode) else { return }
            let show = place.podcast
            invalidate(place, isRenamed: event.kind == .library)
            if case .episode(_, let formerName) = event.body {
                let files = state.withLock { $0.kernel.generatedFiles(of: show) }
                let names = formerName.map { name in state.withLock { $0.kernel.removed(name, from: show) } } ?? []
                send(names + files)
            }
            // A show's page shows which episodes are cached.
            if changesPages { send([.page(of: show)]) }
        } else if case .show(let show, let name, let formerName) = event.body {
            // The names of renamed and removed shows must be invalidated. A new name needs no invalidation, since
            // negative lookups are not cached, but the event does not distinguish a new show from a removed one.
            send([formerName, name].compactMap { $0.map { .entry(parent: .root, name: $0) } })
            invalidateEpisodes(of: show, at: event.time)
            send(
                state.withLock { state in
                    state.kernel.folders(of: show).map { .attributes($0) } + state.kernel.generatedFiles(of: show)
                } + [.page(of: show), .attributes(.root)])
        } else if case .view(let name, let isRemoved) = event.body {
            // The name of a new view needs no invalidation.
            send((isRemoved ? [.entry(parent: .root, name: name)] : []) + [.attributes(.root)])
        }
    }

    private func recordChange(ofNames isOfNames: Bool) {
        send(
            state.withLock { state in
                state.kernel.changes.add()
                return isOfNames ? state.kernel.namesChanged() : []
            })
    }

    private func invalidate(_ place: Library.EpisodePlace, isRenamed: Bool) {
        let number = NodeNumber(kind: .episode, generation: place.generation, row: place.id)
        let isPending = state.withLock { $0.kernel.grants.isPending(number) }
        let row = isPending ? try? library.entry(id: place.id) : nil
        send(state.withLock { $0.kernel.changed(place, row: row, isRenamed: isRenamed) })
    }

    /// Invalidates the episodes that a refresh has changed. The daemon reports the refresh as one event, which does not
    /// list them.
    private func invalidateEpisodes(of show: ShowID, at moment: Int64) {
        // The changes since the last event of the show suffice, because the daemon reports a change after making it,
        // and reports the changes of one show in order.
        let since = eventTimes.withLock { $0.shows.updateValue(moment, forKey: show) } ?? started - 1
        invalidateAll((try? library.places(of: show, changedSince: since)) ?? [])
    }

    private func invalidateAll(_ places: [Library.EpisodePlace]) {
        for place in places {
            invalidate(place, isRenamed: true)
            // An alternate (another encoding of an episode) has no sidecars.
            if place.alternateOf != nil { continue }
            send(state.withLock { $0.kernel.sidecars(of: place.name, in: place.podcast) })
        }
    }

    /// Handles a new connection to a daemon: replaces the list of tasks, and invalidates what changed since the last
    /// event.
    func connected(_ tasks: [TaskInfo]) {
        live.replace(with: tasks)
        let since = eventTimes.withLock { exchange(&$0.moment, with: now) }
        guard since > 0 else { return }
        recordChange(ofNames: true)
        // A second of overlap, since the library's times are whole seconds.
        let places = (try? library.places(changedSince: since - 1)) ?? []
        invalidateAll(places)
        var shows = Set(places.map(\.podcast))
        let folders = (try? library.folders()) ?? []
        // The former names of shows that were renamed or removed meanwhile. The library does not store these names.
        let lastNames = lastFolderNames.withLock { exchange(&$0, with: []) }
        for name in lastNames.subtracting(folders.map(\.name)) { send([.entry(parent: .root, name: name)]) }
        for folder in folders where folder.changed >= since - 1 {
            send([.entry(parent: .root, name: folder.name)])
            send(state.withLock { $0.kernel.generatedFiles(of: folder.id) })
            shows.insert(folder.id)
        }
        send(shows.sorted().map { .page(of: $0) })
        refreshViews()
        send([.attributes(.root)])
    }

    func disconnected() {
        live.replace(with: [])
        recordFolderNames()
    }

    /// Records the names of the shows' folders, for comparison at the next connection to a daemon.
    func recordFolderNames() {
        let names = Set(((try? library.folders()) ?? []).map(\.name))
        lastFolderNames.withLock { $0 = names }
    }
}

extension Invalidation {
    fileprivate static func page(of show: ShowID) -> Invalidation { .attributes(NodeNumber(kind: .page, row: show)) }
}
