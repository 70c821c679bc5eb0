internal import Fuse
internal import Glibc

/// An open folder's stream of names.
struct OpenFolder: Sendable {
    var names: FolderSnapshot
    /// Whether no names have been read yet.
    var isNew = true

    init(names: FolderSnapshot) { self.names = names }
}

/// The names of a folder when it was opened.
struct FolderSnapshot: Sendable {
    struct Item: Sendable {
        let name: String
        let facts: NodeFacts
        /// Only the name is listed: who wants more looks for it.
        let isBare: Bool

        init(name: String, facts: NodeFacts) { (self.name, self.facts, isBare) = (name, facts, false) }

        /// A file that is rendered when it alone is looked at, or one of which no more is known.
        init(name: String, bare number: NodeNumber) {
            self.name = name
            facts = NodeFacts(number, size: 0, modified: 0, changed: 0)
            isBare = true
        }

        /// The node number without the generation, which may change later.
        var identity: NodeNumber { NodeNumber(kind: facts.number.kind, row: facts.number.row) }
    }

    var number: NodeNumber
    var items: [Item]
    /// The last change included in the items: attributes changed later are outdated.
    var change: UInt64 = 0
    /// The offsets of the names are above this one: see `DirectoryCaches`. 0 for what the kernel is not to keep.
    var base: UInt64 = 0
    /// Whether the kernel may cache the names.
    var isKept = false
    /// The offset after the last name, if not the next one: see `DirectoryCache`.
    var end: UInt64?

    /// The kernel's pages would be full to the last byte. It takes the end of such names for the end of any others
    /// whose place it looks for in them in vain (fuse_readdir_cached), instead of asking.
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

    /// Returns the number of names, `.` and `..` among them, before an offset; `nil` for one of another listing.
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
    /// What has gone or has another name since is listed without attributes.
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
