/// The kernel's cache of one folder's listing, and how the folder's streams are to be opened for it.
///
/// The kernel keeps what it lists for streams that are opened with FOPEN_CACHE_DIR, whichever of them asks, and gives
/// it to any of them that reads from the beginning, without a question (fuse_readdir_cached in its fs/fuse/readdir.c).
/// An open without FOPEN_KEEP_CACHE empties this cache, before open(2) returns. What follows from how it does that:
/// - The names of an older stream may reach the kernel after it was told of a change, and after a younger stream was
///   opened. So a stream has to do with the cache only while no other that has is open with another listing.
/// - The opens of two streams may return in another order than they were answered in. So none is told to use what
///   another is to empty before that one has been heard of again.
/// - An entry is kept if its offset follows that of the last one that was kept. So no two listings have an offset in
///   common (`DirectoryCaches`): what the kernel has is never of two listings, and a stream of one does not go on in
///   another.
/// - A cache that is emptied when it is filled in part is not filled again, nor begun, before the kernel has forgotten
///   the folder: it waits for what follows. So it is emptied only while no stream is open that may fill it, but for
///   what `change` tells. Where a stream was closed in the midst of its names the next listing ends at the offset that
///   the kernel waits for: then it takes the cache for filled, finds that it is empty, and begins.
///
/// Pure: who holds the value performs what it asks for.
struct DirectoryCache: Sendable, Equatable {
    /// The way a stream is opened, and the offset by which it tells the end of its names, if not their own.
    struct Answer: Sendable, Equatable {
        var way: Way
        var end: UInt64?
    }

    enum Way: Sendable, Equatable {
        /// The kernel empties its cache, and the stream fills it anew.
        case begins
        /// The stream reads from the cache, or continues to fill it.
        case joins
        /// The stream requests all names, with attributes, and does not use the cache.
        case passes

        /// FOPEN_CACHE_DIR.
        var caches: Bool { self != .passes }
        /// FOPEN_KEEP_CACHE.
        var keeps: Bool { self != .begins }
    }

    /// The facts that are known when a stream is opened.
    struct Opening: Sendable, Equatable {
        /// The stream's listing: that with the offsets above this one.
        var listing: UInt64
        /// The number of its names, `.` and `..` among them.
        var count: Int
        /// The monotonic time in seconds.
        var now: Int64
        /// The number of times that the kernel has forgotten a node's attributes.
        var forgotten: UInt64
    }

    /// For how long a listing goes without attributes, in seconds: half of the time for which the kernel believes those
    /// that came with it. Later it would ask for each by itself.
    static let longest: Int64 = 43_200
    /// Of a listing's names one in so many may have lost its attributes. The kernel asks for each of those by itself,
    /// which takes eight times as long as one among many that come with theirs.
    static let share: UInt64 = 8

    /// The opening of the last stream that began; `nil` when an open one has begun anew with another listing.
    private var kept: Opening?
    /// The stream that clears the cache, until the kernel is known to have done so.
    private var beginner: UInt64?
    /// The streams that use the cache, by handle.
    private var streams: [UInt64: Stream] = [:]
    /// Whether a stream has reached the end of its names since the cache was cleared: the kernel may have all of them.
    private var isFilled = false
    /// The offset after the last names sent, until a stream has reached the end.
    private var reached: UInt64?
    /// The offset for which the kernel waits in vain.
    private var awaited: UInt64?
    /// The offset that the streams of `kept` tell as the end of their names, if not their own.
    private var end: UInt64?

    private struct Stream: Sendable, Equatable {
        var listing: UInt64
        /// Whether names have changed since.
        var isOutdated = false
    }

    /// Opens a stream; must be called before the reply to the opendir.
    mutating func open(_ handle: UInt64, _ opening: Opening) -> Answer {
        if let kept, kept.listing == opening.listing, beginner == nil {
            let hasAttributes = hasAttributes(of: kept, opening)
            // Without a complete cache, names are sent with attributes.
            if hasAttributes || !isFilled {
                if !hasAttributes { self.kept = opening }
                streams[handle] = Stream(listing: opening.listing)
                return Answer(way: .joins, end: end)
            }
        }
        guard streams.isEmpty else { return Answer(way: .passes) }
        streams[handle] = Stream(listing: opening.listing)
        kept = opening
        beginner = handle
        awaited = awaited ?? reached
        // An offset of an older listing, of which no stream will have names any more.
        end = awaited.flatMap { $0 <= opening.listing ? $0 : nil }
        (isFilled, reached) = (false, nil)
        return Answer(way: .begins, end: end)
    }

    /// Whether the kernel still has the attributes that came with the names.
    private func hasAttributes(of kept: Opening, _ opening: Opening) -> Bool {
        opening.now - kept.now < Self.longest
            && (opening.forgotten &- kept.forgotten) * Self.share <= UInt64(opening.count)
    }

    /// Removes a stream whose opendir reply was not accepted.
    mutating func abandon(_ handle: UInt64) {
        if beginner == handle { kept = nil }
        close(handle)
    }

    /// The stream asks for names.
    ///
    /// - Returns: whether they have changed: if it asks from the beginning it is to have those of now. With older ones
    ///   it would
    ///   fill the cache, behind the back of who has been told of the change.
    mutating func asked(_ handle: UInt64) -> Bool {
        if beginner == handle { beginner = nil }
        return streams[handle]?.isOutdated ?? false
    }

    /// Records that names are sent, followed by this offset.
    mutating func answered(_ handle: UInt64, to offset: UInt64) {
        if !isFilled, awaited == nil, streams[handle] != nil { reached = offset }
    }

    /// Records that a stream has reached the end of its names by a request.
    ///
    /// - Returns: Whether the kernel must drop its cache, after the reply.
    mutating func ended(_ handle: UInt64) -> Bool {
        guard let stream = streams[handle] else { return false }
        isFilled = !stream.isOutdated
        reached = nil
        if stream.listing == kept?.listing { awaited = nil }
        return stream.isOutdated
    }

    /// Rewinds a stream, possibly to another listing.
    ///
    /// - Returns: Whether it is the only one, so that its listing is the only one that the kernel can get completely.
    mutating func rewind(_ handle: UInt64, to listing: UInt64) -> Bool {
        guard let old = streams[handle] else { return false }
        streams[handle] = Stream(listing: listing)
        // The kernel may have either of the two.
        if old.listing != listing { kept = nil }
        return streams.count == 1
    }

    func has(_ handle: UInt64) -> Bool { streams[handle] != nil }

    /// Names have changed: a stream that is open is to see that from its next rewinddir(3) on, for which the kernel has
    /// to ask.
    ///
    /// - Returns: whether the kernel is to drop what it has. Not in the midst of filling; `ended` says so then.
    mutating func change() -> Bool {
        for handle in streams.keys { streams[handle]?.isOutdated = true }
        guard !streams.isEmpty else { return false }
        defer { isFilled = false }
        return isFilled
    }

    mutating func close(_ handle: UInt64) {
        streams[handle] = nil
        if beginner == handle { beginner = nil }
    }

    /// Whether the value can be discarded: the next stream fills the cache again.
    var isIdle: Bool { streams.isEmpty }
}
