internal import Fuse
internal import PodcastLibrary
internal import Synchronization
internal import TransferCore

// Sends the invalidations that `KernelCache` requests.
extension PodcastFilesystem {
    func send(_ invalidations: [Invalidation]) {
        guard !invalidations.isEmpty, let notifier = kernelLink.withLock({ $0?.notifier }) else { return }
        for invalidation in invalidations {
            switch invalidation {
            case .attributes(let number) where number.kind == .episode:
                // Counted after the invalidation: a listing made before contains the old attributes.
                notifier.invalidateAttributes(number.node) { [self] in
                    state.withLock { $0.kernel.delivered(invalidation) }
                }
            case .attributes(let number): notifier.invalidateAttributes(number.node, then: nil)
            case .data(let number): notifier.invalidateData(number.node, then: nil)
            case .entry(let parent, let name): notifier.invalidateEntry(parent: parent.node, name: name, then: nil)
            }
        }
    }

    /// Invalidates attributes, and then calls `next`, for a reply that has to wait for it.
    func invalidate(_ number: NodeNumber, then next: @escaping @Sendable () -> Void) {
        guard let notifier = kernelLink.withLock({ $0?.notifier }) else {
            next()
            return
        }
        notifier.invalidateAttributesNow(number.node, then: next)
    }

    /// Makes the kernel request the size of a file, once for concurrent opens, and then calls `next`.
    func push(_ size: Int64, of number: NodeNumber, then next: @escaping @Sendable () -> Void) {
        let push = state.withLock { state in
            let push = state.kernel.push(size, of: number)
            if push != .isKnown { state.files.waiting[number, default: []].append(next) }
            return push
        }
        switch push {
        case .isKnown: next()
        case .isUnderWay: break
        case .begins:
            invalidate(number) { [self] in
                let waiting = state.withLock { state in
                    state.kernel.pushed(size, of: number)
                    return state.files.waiting.removeValue(forKey: number) ?? []
                }
                for next in waiting { next() }
            }
        }
    }

    /// Invalidates the name of an episode that now refers to another node.
    func invalidateName(ofEpisode episode: EpisodeID) {
        guard let place = try? library.place(of: episode) else { return }
        send(state.withLock { $0.kernel.entries(place.name, in: place.podcast) })
    }
}
