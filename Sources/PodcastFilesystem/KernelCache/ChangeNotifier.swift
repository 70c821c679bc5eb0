package import Fuse

/// The cache invalidations of the kernel.
package protocol ChangeNotifier: Sendable {
    func invalidateAttributes(_ node: NodeID, then completion: (@Sendable () -> Void)?)
    /// Invalidates attributes before a waiting reply.
    func invalidateAttributesNow(_ node: NodeID, then completion: (@Sendable () -> Void)?)
    func invalidateData(_ node: NodeID, then completion: (@Sendable () -> Void)?)
    func invalidateEntry(parent: NodeID, name: String, then completion: (@Sendable () -> Void)?)
}

extension Invalidator: ChangeNotifier {}
