package import Fuse

/// The part of the kernel that is told of changes.
package protocol ChangeNotifier: Sendable {
    func invalidateAttributes(_ node: NodeID, then completion: (@Sendable () -> Void)?)
    /// For an answer that waits for it.
    func invalidateAttributesNow(_ node: NodeID, then completion: (@Sendable () -> Void)?)
    func invalidateData(_ node: NodeID, then completion: (@Sendable () -> Void)?)
    func invalidateEntry(parent: NodeID, name: String, then completion: (@Sendable () -> Void)?)
}

extension Invalidator: ChangeNotifier {}
