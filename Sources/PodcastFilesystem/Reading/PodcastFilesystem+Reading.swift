package import Fuse
internal import Platform
internal import PodcastProtocol
internal import Synchronization
internal import SystemPackage
internal import Transfers

// Reads. A read is answered immediately from the cache if possible. Otherwise it is parked: the kernel gets no reply
// until the daemon has the missing bytes.
extension PodcastFilesystem {
    package func read(_ request: consuming Request, node: NodeID, handle: FileHandle, offset: Int64, size: Int) {
        guard let file = state.withLock({ $0.files[handle] }), offset >= 0 else {
            return request.reply(error: .badFileDescriptor)
        }
        if let content = file.content {
            let count = Int(max(0, min(Int64(size), content.size - offset)))
            return request.reply(upTo: count) { buffer throws(Errno) in try content.read(into: buffer, at: offset) }
        }
        let (tag, range) = Self.split(offset..<(offset + min(Int64(size), .max - offset)), of: file)
        if let tag, range.isEmpty { return Self.reply(request, of: file, tag) }
        let (kind, isPromoted) = Self.kind(of: range, in: file)
        // The read that shows that a program is a player must start the download. It is sent to the daemon even if its
        // bytes are present.
        if !isPromoted, let ready = Self.ready(file, range) {
            if ready.count == 0, tag == nil, refusesTail(range, of: file) { return request.reply(error: .ioError) }
            if ready.count > 0, ready.reader?.queue != nil {
                readArchived(request) { Self.reply($0, of: file, tag, ready, at: range.lowerBound) }
            } else {
                Self.reply(request, of: file, tag, ready, at: range.lowerBound)
            }
            return
        }
        if let error = refusal(of: file) { return request.reply(error: error) }
        let read = ReadRequest(
            episode: file.number.episode, generation: file.medium.generation, range: range,
            takesHead: true, kind: kind)
        if !isPromoted, let head = head(of: file, read) {
            Self.reply(request, of: file, tag, head.bytes)
            if head.isFirst { notifyRead(read, file) }
            return
        }
        let waiting = ParkedRequest(request)
        file.media.withLock { $0.probing?.beginWait(at: SystemClock.monotonic.now) }
        send(.read, read.payload, for: waiting) { [self] result in
            file.media.withLock { $0.probing?.endWait(at: SystemClock.monotonic.now) }
            handleResponse(result, for: waiting, file, tag, read)
        }
    }

    /// Records a read by a program that has so far been assumed to be a probe: a program that reads only headers and
    /// tags.
    ///
    /// - Returns: The kind of program, and whether this read shows that it is a player and must start the download.
    private static func kind(of range: Range<Int64>, in file: OpenFile) -> (ReaderKind, isPromoted: Bool) {
        let now = SystemClock.monotonic.now
        return file.media.withLock { media in
            guard let isPlayer = media.probing?.read(range, at: now) else { return (.player, false) }
            guard isPlayer else { return (.probe, false) }
            media.probing = nil
            return (.player, !media.isComplete)
        }
    }

    /// Returns the bytes of a read from the head, that is, from the first bytes of the episode, which the daemon sent
    /// before there was a cache file.
    ///
    /// - Returns: The bytes, and whether this is the first read that the head answers. In that case, the caller must
    ///   notify the daemon. `nil` if the head does not include the whole read.
    private func head(of file: OpenFile, _ read: ReadRequest) -> (bytes: ArraySlice<UInt8>, isFirst: Bool)? {
        file.media.withLock { media in
            let end = min(read.range.upperBound, media.total ?? .max)
            guard read.range.lowerBound < end, end <= Int64(media.head.count) else { return nil }
            let bytes = media.head[Int(read.range.lowerBound)..<Int(end)]
            guard case .none = media.headNotification else { return (bytes, false) }
            media.headNotification = .pending(isClosed: false)
            return (bytes, true)
        }
    }

    /// Notifies the daemon of a read that was answered from the head, so that the daemon starts the download. Adopts
    /// the cache file that the daemon's response names.
    private func notifyRead(_ read: ReadRequest, _ file: OpenFile) {
        var read = read
        read.takesHead = false
        link.send(.read, read.payload) { [self] result in
            guard let grant = try? result.grant(), grant.generation == file.medium.generation else { return }
            // After a failure the next read requests the file again.
            try? apply(grant, to: file)
        }
        let isClosed = file.media.withLock { media in
            defer { media.headNotification = .sent }
            guard case .pending(isClosed: true) = media.headNotification else { return false }
            return true
        }
        if isClosed { notifyClose(of: file) }
    }

    /// Whether to refuse a read beyond the end, because it may be a readahead. The kernel reads ahead beyond the end if
    /// it has cached a larger size; `KernelCache.refusesTail` explains why such a read must not get an empty reply.
    private func refusesTail(_ range: Range<Int64>, of file: OpenFile) -> Bool {
        state.withLock { state in
            !file.bypassesCache && !state.kernel.isDirect(file.number)
                && state.kernel.refusesTail(range, of: file.number)
        }
    }

    private func handleResponse(
        _ result: Result<Frame, Failure>, for waiting: ParkedRequest, _ file: OpenFile, _ tag: Range<Int64>?,
        _ read: ReadRequest
    ) {
        switch result {
        case .success(let frame):
            guard let request = waiting.take() else { return }
            guard let grant = Grant(payload: frame.payload) else { return request.reply(error: .ioError) }
            guard grant.generation == file.medium.generation else {
                invalidateName(ofEpisode: file.number.episode)
                return replyOfOldGeneration(request, file, tag, read.range)
            }
            do {
                try apply(grant, to: file)
            } catch {
                return request.reply(error: error)
            }
            if let ready = Self.ready(file, read.range) {
                Self.reply(request, of: file, tag, ready, at: read.range.lowerBound)
            } else if let head = head(of: file, read) {
                Self.reply(request, of: file, tag, head.bytes)
                if head.isFirst { notifyRead(read, file) }
            } else {
                request.reply(error: .ioError)
            }
        case .failure(let failure):
            let error = Self.errno(of: failure)
            // A probe's failure is not recorded: the server may have the range that the probe reads next.
            if read.kind == .player {
                file.media.withLock { $0.refusal = (error, SystemClock.monotonic.now) }
            }
            guard let request = waiting.take() else { return }
            if error == .staleNFSFileHandle {
                replyOfOldGeneration(request, file, tag, read.range)
            } else {
                request.reply(error: error)
            }
        }
    }

    /// Answers a read of an open file whose generation is no longer current, because the daemon has replaced it. Bytes
    /// of the old generation that were received can still be read. Other reads fail with ESTALE.
    private func replyOfOldGeneration(
        _ request: consuming Request, _ file: OpenFile, _ tag: Range<Int64>?, _ range: Range<Int64>
    ) {
        if let past = live.past(of: file.number.episode, generation: file.medium.generation) {
            file.media.withLock { media in
                if media.reader != nil { media.present.formUnion(past) }
            }
        }
        guard let ready = Self.ready(file, range) else { return request.reply(error: .staleNFSFileHandle) }
        Self.reply(request, of: file, tag, ready, at: range.lowerBound)
    }

    /// Returns the error for a read that must not be parked, otherwise `nil`. An error of the last `retryWindow`
    /// is returned again: after a failed readahead the kernel requests the page once more for the reader itself, and
    /// that request must not wait for the deadline a second time.
    private func refusal(of file: OpenFile) -> Errno? {
        let now = SystemClock.monotonic.now
        if parked.refuses(at: now) { return .ioError }
        return file.media.withLock { media in
            guard let refusal = media.refusal, now - refusal.at < ParkedRequests.retryWindow else { return nil }
            return refusal.error
        }
    }

    /// Adopts the file and the ranges that the daemon has granted. Throws ESTALE if the handle has another cache file.
    func apply(_ grant: Grant, to file: OpenFile) throws(Errno) {
        let (known, hasReader) = file.media.withLock { ($0.file, $0.reader != nil) }
        // The granted ranges belong to the granted file, and must not be applied to another one, even of the same
        // generation.
        if hasReader, known != grant.file { throw .staleNFSFileHandle }
        let reader =
            hasReader
            ? nil : try grant.file.map { name throws(Errno) in try MediaReader(name: name, in: options.cache) }
        let agrees = file.media.withLock { media in
            if media.reader == nil {
                media.reader = reader
                media.file = grant.file
                if reader != nil { media.head = [] }
            } else if media.file != grant.file {
                return false
            }
            media.present.formUnion(grant.present)
            media.total = grant.total ?? media.total
            if media.reader == nil, !grant.head.isEmpty { media.head = grant.head }
            return true
        }
        if !agrees { throw .staleNFSFileHandle }
        state.withLock { $0.files.lease(file) }
    }

    private struct Ready {
        /// The cache file; `nil` if the read starts at the end of the episode, or beyond it.
        var reader: MediaReader?
        var count: Int
    }

    /// Returns the file and the number of bytes with which a read can be answered now; `nil` if bytes are missing.
    private static func ready(_ file: OpenFile, _ range: Range<Int64>) -> Ready? {
        file.media.withLock { media in
            let offset = range.lowerBound
            guard let total = media.total else {
                guard let reader = media.reader, media.present.covers(range) else { return nil }
                return Ready(reader: reader, count: range.count)
            }
            let end = min(range.upperBound, total)
            if offset >= end { return Ready(reader: nil, count: 0) }
            guard let reader = media.reader, media.isComplete || media.present.covers(offset..<end) else {
                return nil
            }
            return Ready(reader: reader, count: Int(end - offset))
        }
    }

    /// Returns the bytes of a range, from the cache file or the head; `nil` if they are not all present.
    func presentBytes(of file: OpenFile, _ range: Range<Int64>) -> [UInt8]? {
        if let ready = Self.ready(file, range), let reader = ready.reader {
            var bytes = [UInt8](repeating: 0, count: ready.count)
            let count = bytes.withUnsafeMutableBytes { try? reader.read(into: $0, at: range.lowerBound) }
            return count == bytes.count ? bytes : nil
        }
        return file.media.withLock { media in
            range.upperBound <= Int64(media.head.count)
                ? Array(media.head[Int(range.lowerBound)..<Int(range.upperBound)]) : nil
        }
    }

    // MARK: Replies

    /// Divides a read of a file in the folder `Tagged` into a range of the generated tag and a range of the original.
    /// Other files have no tag.
    private static func split(
        _ range: Range<Int64>, of file: OpenFile
    ) -> (tag: Range<Int64>?, original: Range<Int64>) {
        guard let (tag, original) = file.tag?.split(range) else { return (nil, range) }
        return (tag.isEmpty ? nil : tag, original)
    }

    /// Answers with a part of the tag, if any, followed by `count` bytes that `rest` writes.
    private static func reply(
        _ request: consuming Request, of file: OpenFile, _ range: Range<Int64>?, count: Int = 0,
        rest: (UnsafeMutableRawBufferPointer) throws(Errno) -> Void = { _ in }
    ) {
        let tagged = range?.count ?? 0
        request.reply(upTo: tagged + count) { buffer throws(Errno) in
            if let range, let tag = file.tag {
                _ = try tag.content.read(
                    into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<tagged]), at: range.lowerBound)
            }
            try rest(UnsafeMutableRawBufferPointer(rebasing: buffer[tagged...]))
            return buffer.count
        }
    }

    private static func reply(
        _ request: consuming Request, of file: OpenFile, _ tag: Range<Int64>?, _ ready: Ready, at offset: Int64
    ) {
        reply(request, of: file, tag, count: ready.count) { buffer throws(Errno) in
            // The cache file has this range, so a short read is an error. The kernel would treat it as the end of file.
            guard let reader = ready.reader, ready.count > 0 else { return }
            guard try reader.read(into: buffer, at: offset) == buffer.count else { throw Errno.ioError }
        }
    }

    private static func reply(
        _ request: consuming Request, of file: OpenFile, _ tag: Range<Int64>?, _ bytes: ArraySlice<UInt8>
    ) {
        reply(request, of: file, tag, count: bytes.count) { buffer in buffer.copyBytes(from: bytes) }
    }
}
