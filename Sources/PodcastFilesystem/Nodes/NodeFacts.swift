internal import Fuse
internal import PodcastLibrary
internal import Synchronization

/// The attributes of a node, except those that all nodes of its kind share.
struct NodeFacts: Sendable {
    var number: NodeNumber
    /// The size in bytes.
    var size: Int64
    /// The allocated size in units of 512 bytes.
    var blocks: Int64
    /// The atime. `accessed`, `modified` and `changed` are in seconds of Unix time.
    var accessed: Int64
    var modified: Int64
    var changed: Int64

    /// Creates the attributes of a file or a symbolic link. For a link, `size` is the length of its target.
    init(_ number: NodeNumber, size: Int64, modified: Int64, changed: Int64) {
        self.number = number
        self.size = size
        blocks = (size + 511) / 512
        accessed = modified
        self.modified = modified
        self.changed = changed
    }

    /// Creates the attributes of a folder for which no time is recorded. All its times are the start of the mount.
    init(fixed folder: NodeNumber, of mount: PodcastFilesystem) {
        self.init(folder: folder, modified: mount.started, changed: mount.started)
    }

    init(folder number: NodeNumber, modified: Int64, changed: Int64) {
        self.init(number, size: 4096, modified: modified, changed: changed)
        accessed = changed
    }

    /// Creates the attributes of a show's folder or of a subfolder of it. The modification time is that of the newest
    /// episode, if there is one.
    init(folder number: NodeNumber, of show: FolderEntry) {
        self.init(folder: number, modified: show.newest ?? show.changed, changed: show.changed)
    }
}

/// The attributes that all nodes of a kind share, and how long the kernel may cache them.
struct NodeForm: Sendable {
    var kind: FileKind
    var permissions: UInt16
    var links: UInt32 = 1
    /// The preferred size of a read, in bytes.
    var blockSize: Int32 = 4096
    /// The time in seconds for which the kernel may cache attributes.
    var attributeTimeout = longest
    /// The time in seconds for which the kernel may cache the name.
    var entryTimeout = longest
    /// Whether the size of the opened content is pushed to the kernel, so that fstat(2) after an open returns it.
    var pushesSize = true

    /// The timeout of names and attributes that podfs invalidates in the kernel when they change: a day.
    static let longest: Double = 86_400

    static let file = NodeForm(kind: .regular, permissions: 0o444)
    static let folder = NodeForm(kind: .directory, permissions: 0o555, links: 2)
    static let link = NodeForm(kind: .symlink, permissions: 0o777)
    /// The form of files that change without an event. The kernel must not cache their attributes.
    static let changing = NodeForm(kind: .regular, permissions: 0o444, attributeTimeout: 0, pushesSize: false)

    /// Returns a copy with another timeout for attributes and names.
    func cached(for seconds: Double) -> NodeForm {
        var form = self
        (form.attributeTimeout, form.entryTimeout) = (seconds, seconds)
        return form
    }
}

extension PodcastFilesystem {
    func attributes(_ facts: NodeFacts, _ form: NodeForm) -> Attributes {
        Attributes(
            inode: facts.number.inode, kind: form.kind, permissions: form.permissions, links: form.links,
            size: facts.size, blocks: facts.blocks, blockSize: form.blockSize, uid: options.owner.uid,
            gid: options.owner.gid, accessed: facts.accessed, modified: facts.modified, changed: facts.changed)
    }

    /// Returns the reply to a lookup.
    ///
    /// - Parameter entryTimeout: 0 if the kernel must not cache the name; `nil` for the timeout of the node's form.
    func entry(_ facts: NodeFacts, entryTimeout: Double? = nil) -> Entry {
        let form = behaviour(of: facts.number).form
        let (attributes, timeout) = attributesAndTimeout(facts, form)
        return Entry(
            node: facts.number.node, attributes: attributes, attributeTimeout: timeout,
            entryTimeout: entryTimeout ?? form.entryTimeout)
    }

    /// Returns the attributes for a reply, and the time in seconds for which the kernel may cache them.
    func attributesAndTimeout(_ facts: NodeFacts, _ form: NodeForm) -> (attributes: Attributes, timeout: Double) {
        guard form.kind == .regular else { return (attributes(facts, form), form.attributeTimeout) }
        let (sent, isCached) = state.withLock { $0.kernel.prepareReply(facts) }
        return (attributes(sent, form), isCached ? form.attributeTimeout : 0)
    }
}

/// The user and group that the files belong to.
package struct Owner: Sendable, Equatable {
    package var uid: UInt32
    package var gid: UInt32

    package init(uid: UInt32, gid: UInt32) {
        self.uid = uid
        self.gid = gid
    }
}
