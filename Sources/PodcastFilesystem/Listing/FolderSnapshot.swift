internal import Fuse
internal import Glibc

/// The state of an open directory: the names that readdir returns.
struct OpenFolder: Sendable {
    var names: FolderSnapshot
    /// Whether readdir has not been called yet.
    var isNew = true

    init(names: FolderSnapshot) { self.names = names }
}

/// The names in a folder at one time, with their attributes.
struct FolderSnapshot: Sendable {
    /// An entry of a folder.
    struct Item: Sendable {
        let name: String
        let facts: NodeFacts
        /// Whether the item is listed without attributes. If a program needs them, the kernel then looks up the name.
        let isBare: Bool

        init(name: String, facts: NodeFacts) { (self.name, self.facts, isBare) = (name, facts, false) }

        /// Creates an item without attributes, for a file that is rendered only on access, or whose attributes are
        /// unknown.
        init(name: String, bare number: NodeNumber) {
            self.name = name
            facts = NodeFacts(number, size: 0, modified: 0, changed: 0)
            isBare = true
        }

        /// The node number with generation 0, so that an item keeps its identity when its episode gets a new rendition
        /// (version of the media file).
        var identity: NodeNumber { NodeNumber(kind: facts.number.kind, row: facts.number.row) }
    }

    /// The folder's node.
    var number: NodeNumber
    var items: [Item]
    /// The number of the last change that the items reflect; see `ChangeLog`. The attributes of an item that changed
    /// later are outdated.
    var change: UInt64 = 0
    /// The offset before the first name. The first name is `.`, and the offset after it is `base + 1`. Assigned by
    /// `DirectoryCaches`; 0 for a folder whose names the kernel never caches.
    var base: UInt64 = 0
    /// Whether the kernel may cache the names.
    var isCacheable = false
    /// The offset after the last name, if it differs from the one computed from `base`; see `DirectoryCache`.
    var end: UInt64?

    /// Whether the names would fill the kernel's cached pages to the last byte. With such a cache, the kernel
    /// reports the end of the folder to a stream whose position is not in the cache, instead of sending a request
    /// (fuse_readdir_cached).
    var fillsPages: Bool {
        let page = sysconf(Int32(_SC_PAGESIZE))
        var size = 0
        for length in [1, 2] + items.lazy.map(\.name.utf8.count) {
            // FUSE_DIRENT_SIZE. No entry spans two pages.
            let entry = (24 + length + 7) & ~7
            let rest = page - size % page
            size += entry > rest ? rest + entry : entry
        }
        return size % page == 0
    }

    /// Returns the offset at which a listing continues after an item.
    func nextOffset(_ item: Int) -> UInt64 {
        if let end, item == items.count - 1 { return end }
        return base + UInt64(item) + 3
    }

    /// Returns the number of names, including `.` and `..`, that precede an offset; `nil` for an offset of another
    /// listing.
    func position(of offset: UInt64) -> Int? {
        let count = items.count + 2
        if offset == 0 { return 0 }
        // A folder whose names the kernel never caches has no other listing: any offset is valid.
        if base == 0 { return Int(min(offset, UInt64(count))) }
        if offset == end { return count }
        return offset > base && offset <= base + UInt64(count) ? Int(offset - base) : nil
    }

    /// Returns these names in their order with the attributes of `other`, a later snapshot of the same folder.
    ///
    /// Items that `other` does not contain, or contains under another name, are listed without attributes.
    func updated(by other: FolderSnapshot) -> FolderSnapshot {
        let fresh = Dictionary(other.items.map { ($0.identity, $0) }, uniquingKeysWith: { first, _ in first })
        var copy = self
        copy.change = other.change
        copy.items = items.map { item in
            if let now = fresh[item.identity], now.name.utf8.elementsEqual(item.name.utf8) { return now }
            return Item(name: item.name, bare: item.facts.number)
        }
        return copy
    }
}
