/// A message that makes the kernel forget something, so that it asks again.
enum Invalidation: Sendable, Hashable {
    case attributes(NodeNumber)
    /// Cached pages; of a folder the names that the kernel keeps.
    case data(NodeNumber)
    case entry(parent: NodeNumber, name: String)
}
