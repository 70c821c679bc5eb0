package import Fuse
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import Transfers

// Sends the invalidations that `KernelCache` requests.
extension PodcastFilesystem {
    func send(_ invalidations: [Invalidation]) {
        guard !invalidations.isEmpty, let notifier = kernelLink.withLock({ $0?.notifier }) else { return }
        let effective = state.withLock { state in invalidations.filter { state.kernel.isEffective($0) } }
        for invalidation in effective {
            switch invalidation {
            case .attributes(let number) where number.kind == .episode:
                // The invalidation must be counted only after the kernel has got it, or it cannot be sent. Until then a
                // listing may be opened that gives the kernel attributes, which this invalidation would then remove.
                notifier.send(.attributes(number.node), isUrgent: false) { [self] in
                    state.withLock { $0.kernel.directories.invalidateAttributes() }
                }
            case .attributes(let number): notifier.send(.attributes(number.node), isUrgent: false, then: nil)
            case .data(let number): notifier.send(.data(number.node), isUrgent: false, then: nil)
            case .entry(let parent, let name):
                notifier.send(.entry(parent: parent.node, name: name), isUrgent: false, then: nil)
            }
        }
    }

    /// Invalidates a node's attributes and then calls `next`, which sends a reply that must not precede the
    /// invalidation.
    func invalidate(_ number: NodeNumber, then next: @escaping @Sendable () -> Void) {
        guard let notifier = kernelLink.withLock({ $0?.notifier }) else { return next() }
        notifier.send(.attributes(number.node), isUrgent: true, then: next)
    }

    /// Invalidates the attributes of a file so that the kernel requests its new size, and then calls `next`, which
    /// answers the open. Concurrent opens share one invalidation; none is sent if the kernel has the size.
    ///
    /// - Parameter next: Called with `true` if the attributes were invalidated.
    func push(_ size: Int64, of number: NodeNumber, then next: @escaping @Sendable (_ isInvalidated: Bool) -> Void) {
        let push = state.withLock { state in
            let push = state.kernel.push(size, of: number)
            if push != .isKnown { state.files.pendingOpens[number, default: []].append(next) }
            return push
        }
        switch push {
        case .isKnown:
            next(false)
            answered(number)
        case .isPending: break
        case .isRequired:
            invalidate(number) { [self] in
                let pending = state.withLock { state in
                    state.kernel.pushed(size, of: number)
                    return state.files.pendingOpens.removeValue(forKey: number) ?? []
                }
                for next in pending { next(true) }
                answered(number)
            }
        }
    }

    /// Records that the opens that waited for a size have been answered. If none of the file's handles is open by then,
    /// invalidates its attributes, because the kernel may cache them from now on.
    private func answered(_ number: NodeNumber) {
        if state.withLock({ $0.kernel.answered(number) }) { send([.attributes(number)]) }
    }

    /// Invalidates the name of an episode whose node has been replaced, so that the kernel looks the name up again.
    func invalidateName(ofEpisode episode: EpisodeID) {
        guard let place = try? library.place(of: episode) else { return }
        send(state.withLock { $0.kernel.entries(of: place) })
    }
}

/// The sender of invalidations of the kernel's caches; see `Invalidator`.
package protocol ChangeNotifier: Sendable {
    func send(_ message: Invalidator.Message, isUrgent: Bool, then completion: (@Sendable () -> Void)?)
}

extension Invalidator: ChangeNotifier {}

/// A notification that invalidates a cache of the kernel.
enum Invalidation: Sendable, Hashable {
    case attributes(NodeNumber)
    /// The cached pages of a file, or the cached listing of a folder.
    case data(NodeNumber)
    case entry(parent: NodeNumber, name: String)
}
