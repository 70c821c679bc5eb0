package import Fuse

/// The sender of invalidations of the kernel's caches; see `Invalidator`.
package protocol ChangeNotifier: Sendable {
    func invalidateAttributes(_ node: NodeID, then completion: (@Sendable () -> Void)?)
    /// Invalidates attributes before a reply that waits for the invalidation, if possible on the calling thread.
    func invalidateAttributesNow(_ node: NodeID, then completion: (@Sendable () -> Void)?)
    func invalidateData(_ node: NodeID, then completion: (@Sendable () -> Void)?)
    func invalidateEntry(parent: NodeID, name: String, then completion: (@Sendable () -> Void)?)
}

extension Invalidator: ChangeNotifier {}
