internal import Fuse
internal import Glibc

/// The state of an open directory: the names that readdir returns.
struct OpenFolder: Sendable {
    var names: FolderSnapshot
    /// Whether readdir has not been called yet.
    var isNew = true
}

/// The names in a folder at one time, with their attributes.
struct FolderSnapshot: Sendable {
    /// An entry of a folder.
    struct Item: Sendable {
        let name: String
        let facts: NodeFacts
        /// Whether the item is listed without attributes. If a program needs them, the kernel then looks up the name.
        let isBare: Bool
        /// The place of the item among those with a rank; `nil` sorts it by its node.
        let rank: Int?

        /// - Parameter rank: Only in folders that are not exported over NFS; see `offset`.
        init(name: String, facts: NodeFacts, rank: Int? = nil) {
            (self.name, self.facts, isBare, self.rank) = (name, facts, false, rank)
        }

        /// Creates an item without attributes, for a file that is rendered only on access, or whose attributes are
        /// unknown.
        init(name: String, bare number: NodeNumber) {
            self.name = name
            facts = NodeFacts(number, size: 0, modified: 0, changed: 0)
            (isBare, rank) = (true, nil)
        }

        /// The offset after the item. It is computed from the node's kind and row alone, so that it means the same in
        /// each listing of the folder: an NFS server opens the folder again for each part of a listing. Rows below 33
        /// million fit into the `off_t` of a 32-bit program. An item with a rank has an offset computed from it.
        var offset: UInt64 {
            let kind = UInt64(facts.number.kind.rawValue)
            if let rank { return UInt64(rank + 1) << 6 | kind }
            return facts.number.kind.isUniqueInFolder ? kind : UInt64(facts.number.row) << 6 | kind
        }
    }

    /// The folder's node.
    let number: NodeNumber
    /// The items in the order of their offsets.
    private(set) var items: [Item]
    /// The number of the last change that the items reflect; see `ChangeLog`. The attributes of an item that changed
    /// later are outdated.
    private(set) var change: UInt64
    /// The inputs of the listing, if the kernel may cache the names.
    private(set) var basis: DirectoryCaches.Basis?
    /// Whether the names would fill the kernel's cached pages to the last byte. With such a cache, the kernel
    /// reports the end of the folder to a stream whose position is not in the cache, instead of sending a request
    /// (fuse_readdir_cached).
    let fillsPages: Bool

    init(number: NodeNumber, items: [Item], change: UInt64, basis: DirectoryCaches.Basis? = nil) {
        self.number = number
        self.items = items.sorted { $0.offset < $1.offset }
        self.change = change
        self.basis = basis
        fillsPages = basis != nil && Self.fillsPages(self.items)
    }

    private static func fillsPages(_ items: [Item]) -> Bool {
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

    /// Returns the number of names, including `.` and `..`, that precede an offset. If the name of the offset is gone,
    /// the listing continues with the next one.
    func position(of offset: UInt64) -> Int {
        if offset < 2 { return Int(offset) }
        var (low, high) = (0, items.count)
        while low < high {
            let middle = (low + high) / 2
            if items[middle].offset <= offset { low = middle + 1 } else { high = middle }
        }
        return low + 2
    }

    /// Returns these names in their order with the attributes of `other`, a later snapshot of the same folder.
    ///
    /// Items that `other` does not contain, or contains under another name, are listed without attributes.
    func updated(by other: FolderSnapshot) -> FolderSnapshot {
        let fresh = Dictionary(other.items.map { ($0.offset, $0) }, uniquingKeysWith: { first, _ in first })
        var copy = self
        copy.change = other.change
        copy.items = items.map { item in
            if let now = fresh[item.offset], now.name.utf8.elementsEqual(item.name.utf8) { return now }
            return Item(name: item.name, bare: item.facts.number)
        }
        return copy
    }
}
