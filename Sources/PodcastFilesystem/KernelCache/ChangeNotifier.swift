package import Fuse

/// The sender of invalidations of the kernel's caches; see `Invalidator`.
package protocol ChangeNotifier: Sendable {
    func invalidateAttributes(_ node: NodeID, then completion: (@Sendable () -> Void)?)
    /// Invalidates attributes for a reply that waits for the invalidation. Sends the message on the calling thread if
    /// possible.
    func invalidateAttributesNow(_ node: NodeID, then completion: (@Sendable () -> Void)?)
    func invalidateData(_ node: NodeID, then completion: (@Sendable () -> Void)?)
    func invalidateEntry(parent: NodeID, name: String, then completion: (@Sendable () -> Void)?)
}

extension Invalidator: ChangeNotifier {}
