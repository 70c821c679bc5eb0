internal import Fuse
internal import Glibc

/// An open folder, and the names that its stream returns.
struct OpenFolder: Sendable {
    var names: FolderSnapshot
    /// Whether no names have been read yet.
    var isNew = true

    init(names: FolderSnapshot) { self.names = names }
}

/// The names of a folder when it was opened.
struct FolderSnapshot: Sendable {
    /// An entry of a folder.
    struct Item: Sendable {
        let name: String
        let facts: NodeFacts
        /// Whether only the name is listed; the kernel looks it up if a program needs the attributes.
        let isBare: Bool

        init(name: String, facts: NodeFacts) { (self.name, self.facts, isBare) = (name, facts, false) }

        /// Creates an item without attributes, for a file that is rendered only on access, or whose attributes are
        /// unknown.
        init(name: String, bare number: NodeNumber) {
            self.name = name
            facts = NodeFacts(number, size: 0, modified: 0, changed: 0)
            isBare = true
        }

        /// The node number with generation 0: a new rendition is the same item.
        var identity: NodeNumber { NodeNumber(kind: facts.number.kind, row: facts.number.row) }
    }

    /// The folder's node.
    var number: NodeNumber
    var items: [Item]
    /// The number of the last change that the items include; see `ChangeLog`. Attributes that changed later are
    /// outdated.
    var change: UInt64 = 0
    /// The offset below those of the names; see `DirectoryCaches`. 0 for a folder whose names the kernel never caches.
    var base: UInt64 = 0
    /// Whether the kernel may cache the names.
    var isCacheable = false
    /// The offset after the last name, if it does not follow from `base`; see `DirectoryCache`.
    var end: UInt64?

    /// Whether the names would fill the kernel's cached pages to the last byte. If a stream's position is not in such a
    /// cache, the kernel reports the end of the folder instead of sending a request (fuse_readdir_cached).
    var fillsPages: Bool {
        let page = sysconf(Int32(_SC_PAGESIZE))
        var size = 0
        for length in [1, 2] + items.lazy.map(\.name.utf8.count) {
            // FUSE_DIRENT_SIZE; entries do not span pages.
            let entry = (24 + length + 7) & ~7
            let rest = page - size % page
            size += entry > rest ? rest + entry : entry
        }
        return size % page == 0
    }

    /// Returns the offset after an item.
    func nextOffset(_ item: Int) -> UInt64 {
        if let end, item == items.count - 1 { return end }
        return base + UInt64(item) + 3
    }

    /// Returns the number of names before an offset, including `.` and `..`; `nil` for an offset of another listing.
    func position(of offset: UInt64) -> Int? {
        let count = items.count + 2
        if offset == 0 { return 0 }
        // If the kernel caches no names any offset is valid.
        if base == 0 { return Int(min(offset, UInt64(count))) }
        if offset == end { return count }
        return offset > base && offset <= base + UInt64(count) ? Int(offset - base) : nil
    }

    /// Returns these names in their order with the attributes of `other`, a later snapshot of the same folder.
    ///
    /// Entries that have been removed or renamed in `other` are listed without attributes.
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
