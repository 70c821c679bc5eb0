internal import PodcastProtocol
internal import Transfers

/// The former names of renamed episodes. A lookup of such a name finds the episode as long as it is open, since a
/// player may reopen the path that it is playing.
struct FormerNames: Sendable {
    private struct Key: Sendable, Hashable {
        var show: ShowID
        /// The name's bytes, because the kernel compares names byte by byte.
        var name: [UInt8]
    }

    /// The number of names from which on `add` removes the names of closed episodes.
    private static let capacity = 1_024

    private var nodes: [Key: NodeNumber] = [:]

    /// Returns the node that had this name; `nil` if there is none.
    func node(named name: String, of show: ShowID) -> NodeNumber? { nodes[Key(show: show, name: Array(name.utf8))] }

    mutating func add(_ name: String, of show: ShowID, node: NodeNumber, isOpen: (NodeNumber) -> Bool) {
        if nodes.count >= Self.capacity { nodes = nodes.filter { isOpen($0.value) } }
        nodes[Key(show: show, name: Array(name.utf8))] = node
    }
}
