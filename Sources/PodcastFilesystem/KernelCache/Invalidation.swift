/// A notification that invalidates a cache of the kernel.
enum Invalidation: Sendable, Hashable {
    case attributes(NodeNumber)
    /// Cached pages; for a folder the cached names.
    case data(NodeNumber)
    case entry(parent: NodeNumber, name: String)
}
