internal import ContentCache
package import Fuse
internal import Platform
internal import PodcastProtocol
internal import Synchronization
internal import SystemPackage
internal import TransferCore

// Reads. A read is answered immediately from the cache if possible, otherwise parked until the daemon has the missing
// bytes.
extension PodcastFilesystem {
    package func read(_ request: consuming Request, node: NodeID, handle: FileHandle, offset: Int64, size: Int) {
        guard let file = state.withLock({ $0.files[handle] }), offset >= 0 else {
            request.reply(error: .badFileDescriptor)
            return
        }
        if let content = file.content {
            let count = Int(max(0, min(Int64(size), content.size - offset)))
            request.reply(upTo: count) { buffer throws(Errno) in try content.read(into: buffer, at: offset) }
            return
        }
        let range = offset..<(offset + Int64(size))
        let (kind, isPromoted) = Self.kind(of: range, in: file)
        // The read that makes a player starts the download, although its bytes may be present.
        if !isPromoted, let ready = Self.ready(file, offset: offset, size: size) {
            if ready.count == 0, refusesTail(range, of: file) {
                request.reply(error: .ioError)
                return
            }
            Self.reply(request, ready, offset: offset)
            return
        }
        if let error = refusal(of: file) {
            request.reply(error: error)
            return
        }
        let read = ReadRequest(
            episode: file.number.episode, generation: file.number.generation, range: range,
            takesHead: true, kind: kind)
        if !isPromoted, let head = head(of: file, read) {
            Self.reply(request, head.bytes)
            if head.isFirst { tell(of: read, file) }
            return
        }
        let waiting = ParkedRequest(request)
        let asked = SystemClock.monotonic.milliseconds
        ask(.read, read.payload, for: waiting) { [self] result in
            let now = SystemClock.monotonic.milliseconds
            file.media.withLock { $0.probing?.waited(from: asked, to: now) }
            arrived(result, for: waiting, file, read)
        }
    }

    /// Records a read of a program that is taken for a probe.
    ///
    /// - Returns: What the program is, and whether this read has made it a player.
    private static func kind(of range: Range<Int64>, in file: OpenFile) -> (ReaderKind, isPromoted: Bool) {
        let now = SystemClock.monotonic.milliseconds
        return file.media.withLock { media in
            guard let isPlayer = media.probing?.read(range, at: now) else { return (.player, false) }
            guard isPlayer else { return (.probe, false) }
            media.probing = nil
            return (.player, !media.isComplete)
        }
    }

    /// Returns all bytes of a read from those that the daemon sent before there was a cache file, and whether it is the
    /// first such read, of which the daemon must be notified.
    private func head(of file: OpenFile, _ read: ReadRequest) -> (bytes: ArraySlice<UInt8>, isFirst: Bool)? {
        file.media.withLock { media in
            let end = min(read.range.upperBound, media.total ?? .max)
            guard read.range.lowerBound < end, end <= Int64(media.head.count) else { return nil }
            let bytes = media.head[Int(read.range.lowerBound)..<Int(end)]
            guard case .none = media.headRead else { return (bytes, false) }
            media.headRead = .beingTold(isClosed: false)
            return (bytes, true)
        }
    }

    /// Notifies the daemon of an answered read, which starts the download, and requests the cache file.
    private func tell(of read: ReadRequest, _ file: OpenFile) {
        var read = read
        read.takesHead = false
        link.send(.read, read.payload) { [self] result in
            guard case .success(let frame) = result, let grant = Grant(payload: frame.payload),
                grant.generation == file.number.generation
            else { return }
            // After a failure the next read requests it again.
            try? learn(grant, file)
        }
        let isClosed = file.media.withLock { media in
            defer { media.headRead = .told }
            guard case .beingTold(isClosed: true) = media.headRead else { return false }
            return true
        }
        if isClosed { tellClose(of: file) }
    }

    /// Whether to refuse a read beyond the end, which the page cache sends if the kernel has cached a larger size.
    private func refusesTail(_ range: Range<Int64>, of file: OpenFile) -> Bool {
        state.withLock { state in
            !file.bypassesCache && !state.kernel.isDirect(file.number)
                && state.kernel.refusesTail(range, of: file.number)
        }
    }

    private func arrived(
        _ result: Result<Frame, Failure>, for waiting: ParkedRequest, _ file: OpenFile, _ read: ReadRequest
    ) {
        let (offset, size) = (read.range.lowerBound, read.range.count)
        switch result {
        case .success(let frame):
            guard let grant = Grant(payload: frame.payload), let request = waiting.take() else {
                waiting.take()?.reply(error: .ioError)
                return
            }
            guard grant.generation == file.number.generation else {
                invalidateName(ofEpisode: file.number.episode)
                replyOfOldGeneration(request, file, offset: offset, size: size)
                return
            }
            do {
                try learn(grant, file)
            } catch {
                request.reply(error: error)
                return
            }
            if let ready = Self.ready(file, offset: offset, size: size) {
                Self.reply(request, ready, offset: offset)
            } else if let head = head(of: file, read) {
                Self.reply(request, head.bytes)
                if head.isFirst { tell(of: read, file) }
            } else {
                request.reply(error: .ioError)
            }
        case .failure(let failure):
            let error = Self.errno(of: failure)
            // A probe may read elsewhere what the server can send.
            if read.kind == .player {
                file.media.withLock { $0.refusal = (error, SystemClock.monotonic.milliseconds) }
            }
            guard let request = waiting.take() else { return }
            if error == .staleNFSFileHandle {
                replyOfOldGeneration(request, file, offset: offset, size: size)
            } else {
                request.reply(error: error)
            }
        }
    }

    /// Answers a read of a replaced generation: an open file can still be read as far as its bytes were received.
    private func replyOfOldGeneration(_ request: consuming Request, _ file: OpenFile, offset: Int64, size: Int) {
        if let past = live.past(of: file.number.episode, generation: file.number.generation) {
            file.media.withLock { media in
                if media.reader != nil { media.present.formUnion(past) }
            }
        }
        guard let ready = Self.ready(file, offset: offset, size: size) else {
            request.reply(error: .staleNFSFileHandle)
            return
        }
        Self.reply(request, ready, offset: offset)
    }

    /// Returns the error for a read that must not be parked: the kernel requests a page again for the reader itself
    /// after a failed readahead. The second request fails like the first, instead of waiting for the deadline once
    /// more.
    private func refusal(of file: OpenFile) -> Errno? {
        let now = SystemClock.monotonic.milliseconds
        if parked.refuses(at: now) { return .ioError }
        return file.media.withLock { media in
            guard let refusal = media.refusal, now - refusal.at < ParkedReads.retryWindow else { return nil }
            return refusal.error
        }
    }

    private func learn(_ grant: Grant, _ file: OpenFile) throws(Errno) {
        let (known, hasReader) = file.media.withLock { ($0.file, $0.reader != nil) }
        // The granted ranges belong to that file, and must not be applied to another one, even of the same generation.
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
        state.withLock { $0.files.hold(file) }
    }

    private struct Ready {
        /// The file; `nil` at the end of the file.
        var reader: MediaReader?
        var count: Int
    }

    /// Returns the file and the number of bytes with which a read can be answered now; `nil` if bytes are missing.
    private static func ready(_ file: OpenFile, offset: Int64, size: Int) -> Ready? {
        file.media.withLock { media in
            guard let total = media.total else {
                guard let reader = media.reader, media.present.covers(offset..<(offset + Int64(size))) else {
                    return nil
                }
                return Ready(reader: reader, count: size)
            }
            let end = min(offset + Int64(size), total)
            if offset >= end { return Ready(reader: nil, count: 0) }
            guard let reader = media.reader, media.isComplete || media.present.covers(offset..<end) else {
                return nil
            }
            return Ready(reader: reader, count: Int(end - offset))
        }
    }

    private static func reply(_ request: consuming Request, _ ready: Ready, offset: Int64) {
        guard let reader = ready.reader else {
            request.reply(bytes: UnsafeRawBufferPointer(start: nil, count: 0))
            return
        }
        request.reply(upTo: ready.count) { buffer throws(Errno) in
            let count = try reader.read(into: buffer, at: offset)
            // The file includes the granted range, so fewer bytes would be a short read of a complete file.
            guard count == buffer.count else { throw Errno.ioError }
            return count
        }
    }

    private static func reply(_ request: consuming Request, _ bytes: ArraySlice<UInt8>) {
        request.reply(upTo: bytes.count) { buffer in
            buffer.copyBytes(from: bytes)
            return bytes.count
        }
    }

    // MARK: Parking

    /// Parks a request and sends one to the daemon. `answer` is called with the response, unless the parked request was
    /// interrupted before.
    func ask(
        _ kind: Frame.Kind, _ payload: [UInt8], for waiting: ParkedRequest,
        answer: @escaping @Sendable (Result<Frame, Failure>) -> Void
    ) {
        parked.add(waiting)
        let token = link.send(kind, payload) { [self] result in
            _ = parked.remove(waiting)
            answer(result)
        }
        parked.assign(token, to: waiting)
        waiting.onInterrupt { [self] in
            guard let request = waiting.take() else { return }
            if let entry = parked.remove(waiting) { link.cancel(entry.token) }
            request.reply(error: .interrupted)
        }
    }

    static func errno(of failure: Failure) -> Errno {
        failure.errorNumber == 0 ? .ioError : Errno(rawValue: failure.errorNumber)
    }
}
