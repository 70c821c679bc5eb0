/// A notification that invalidates a cache of the kernel.
enum Invalidation: Sendable, Hashable {
    case attributes(NodeNumber)
    /// The cached pages of a file, or the cached listing of a folder.
    case data(NodeNumber)
    case entry(parent: NodeNumber, name: String)
}
