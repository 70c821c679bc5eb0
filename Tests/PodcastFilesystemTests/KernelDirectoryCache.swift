/// A model of the kernel's cache of one folder's names (the field `rdc` in fs/fuse/readdir.c). A method whose comment
/// names a kernel function models that function.
struct KernelDirectoryCache {
    struct Entry: Equatable {
        var name: Int
        /// The offset of the next entry.
        var next: UInt64
        /// The length of the entry in a page, in bytes.
        var length: Int
    }

    /// The relevant fields of `struct file` and `struct fuse_file`.
    struct Stream {
        var usesCache: Bool
        var position: UInt64 = 0
        fileprivate var cachePosition: UInt64 = 0
        fileprivate var cacheOffset = 0
        fileprivate var version = 0

        init(usesCache: Bool) { self.usesCache = usesCache }
    }

    enum Answer: Equatable {
        /// The kernel must request the entries from the filesystem.
        case uncached
        /// Cached entries; an empty array is the end.
        case entries([Entry])
    }

    static let pageSize = 8

    private var isCached = false
    private var version = 0
    private var size = 0
    private var position: UInt64 = 0
    /// The entries by page and by offset in the page.
    private var pages: [Int: [Int: Entry]] = [:]

    /// Returns the total size in bytes of entries with these lengths, including the unused ends of pages: no entry
    /// extends over two pages.
    static func size(of lengths: [Int]) -> Int {
        lengths.reduce(0) { size, length in
            let rest = pageSize - size % pageSize
            return (length > rest ? size + rest : size) + length
        }
    }

    /// fuse_add_dirent_to_cache
    mutating func add(_ entry: Entry, at position: UInt64) {
        guard !isCached, position == self.position else { return }
        var (page, offset) = size.quotientAndRemainder(dividingBy: Self.pageSize)
        if offset + entry.length > Self.pageSize { (page, offset) = (page + 1, 0) }
        if offset == 0 {
            pages[page] = [:]
        } else if pages[page] == nil {
            return
        }
        pages[page]?[offset] = entry
        size = page * Self.pageSize + offset + entry.length
        self.position = entry.next
    }

    /// fuse_readdir_cache_end
    mutating func end(at position: UInt64) {
        guard position == self.position else { return }
        isCached = true
        let last = (size + Self.pageSize - 1) / Self.pageSize
        pages = pages.filter { $0.key < last }
    }

    /// invalidate_inode_pages2
    mutating func dropPages() { pages = [:] }

    /// Drops a page, as the kernel does under memory pressure.
    mutating func dropPage(_ number: Int) { pages[number] = nil }

    var pageCount: Int { pages.count }

    /// fuse_rdc_reset
    private mutating func reset() {
        isCached = false
        version += 1
        size = 0
        position = 0
    }

    /// fuse_readdir_cached and fuse_parse_cache
    mutating func read(_ stream: inout Stream) -> Answer {
        guard stream.usesCache else { return .uncached }
        if stream.cachePosition != stream.position { (stream.cachePosition, stream.cacheOffset) = (0, 0) }
        var found: [Entry] = []
        while true {
            guard isCached else { return found.isEmpty ? .uncached : .entries(found) }
            if stream.version != version { (stream.cachePosition, stream.cacheOffset) = (0, 0) }
            if stream.cachePosition == 0 { stream.version = version }
            let page = stream.cacheOffset / Self.pageSize
            let limit = page == size / Self.pageSize ? size % Self.pageSize : Self.pageSize
            var offset = stream.cacheOffset % Self.pageSize
            if offset == limit { return .entries(found) }
            guard let content = pages[page] else {
                if stream.version == version { reset() }
                continue
            }
            var hasFound = false
            while offset < limit, let entry = content[offset] {
                if stream.cachePosition == stream.position {
                    found.append(entry)
                    hasFound = true
                    stream.position = entry.next
                }
                stream.cachePosition = entry.next
                stream.cacheOffset += entry.length
                offset += entry.length
            }
            if limit == Self.pageSize {
                stream.cacheOffset = (stream.cacheOffset + Self.pageSize - 1) / Self.pageSize * Self.pageSize
                continue
            }
            return hasFound || !found.isEmpty ? .entries(found) : .uncached
        }
    }
}
