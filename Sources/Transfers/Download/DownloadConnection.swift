internal import Platform

/// One request of a download: curl's exchange, and a buffer between it and the file.
///
/// Confined to the engine's thread. curl's callbacks access only the buffer and the file, because they must not call
/// curl; `Download.process` calls curl afterwards.
///
/// A full buffer is flushed to the file. But while the machine has paused the connection, or has not processed the
/// response's head, the bytes stay in the buffer, and the connection pauses curl when the buffer is full. It also
/// pauses curl when the rate limit is reached.
final class DownloadConnection: EasyHandleReceiver {
    let id: DownloadMachine.ConnectionID
    let token: ConnectionPools.Token
    /// The requested URL.
    let url: String
    /// The key of the limits per host: the URL's host and port.
    let host: String
    let request: DownloadMachine.ConnectRequest
    /// Strong, because a server decides when curl ends the exchange. `Download.remove` breaks the cycle.
    let download: Download
    /// The exchange; `nil` until the connection has had a slot.
    var handle: EasyHandle?
    /// A head that the machine has not processed yet.
    var head: ResponseHead?
    /// The result of the exchange; `nil` while it runs.
    var ending: DownloadMachine.Ending?
    /// Whether the machine has released the connection (`Action.release`): its exchange ends by itself, and no further
    /// bytes are accepted.
    var isReleased = false
    /// The ending set by `flush`. It is `refusal` if the body has unexpected content. It is `stopped` if no more bytes
    /// are needed here, a write has failed, or the bytes differ from those in the file.
    var stop: DownloadMachine.Ending?
    /// The kind of content that the first bytes of the body show; `nil` until there are enough bytes.
    private(set) var content: BodyContent?
    /// Whether the connection is in the download's list of connections with events.
    var isDirty = false
    var slot = Slot.none
    private var buffer = ReceiveBuffer()

    /// The state of the connection's slot in `ConnectionPools`. A connection paused by `Action.hold` has no slot.
    enum Slot {
        case none, waiting, granted
    }

    /// Whether the engine, not the server, delays the bytes: the connection has no slot, or curl is paused.
    var isRestrained: Bool { slot != .granted || handle?.isPaused == true }

    init(
        id: DownloadMachine.ConnectionID, token: ConnectionPools.Token, url: String,
        request: DownloadMachine.ConnectRequest, download: Download
    ) {
        self.id = id
        self.token = token
        self.url = url
        host = (try? WebAddress(url))?.hostAndPort ?? url
        self.request = request
        self.download = download
    }

    var isEmpty: Bool { buffer.isEmpty }

    /// Whether the connection's next bytes are the first of the file, and the first bytes are not stored yet.
    var startsFile: Bool {
        guard head == nil, download.machine.position(of: id) == 0, case .write = download.machine.step(id) else {
            return false
        }
        return true
    }

    /// The first buffered bytes, at most four pages. The kernel reads four pages for a program whose first read is less
    /// than a page (get_init_ra_size in mm/readahead.c). Empty if the body has unexpected content, or too few bytes to
    /// show its content.
    var firstBytes: [UInt8] {
        guard let content = findContent(), download.machine.limits.expects.refusal(of: content) == nil else {
            return []
        }
        return Array(buffer.prefix(4 * 4_096))
    }

    /// Classifies the first bytes of the body, all of which are still buffered.
    ///
    /// - Parameter head: The response's head. If its `doubt` that the body is media is strong, more bytes are examined.
    /// - Returns: `nil` if more bytes are needed.
    @discardableResult
    func findContent(_ head: ResponseHead? = nil) -> BodyContent? {
        if content == nil {
            content = BodyContent(buffer.bytes, isWhole: ending != nil, searches: head?.doubt == .strong)
        }
        return content
    }

    /// Whether the buffered bytes may be stored.
    var canStore: Bool { !startsFile || findContent() != nil || ending != nil }

    func easyHandle(_ handle: EasyHandle, didReceiveHead head: ResponseHead) {
        self.head = head
        download.markDirty(self)
    }

    func easyHandle(_ handle: EasyHandle, didReceive bytes: UnsafeRawBufferPointer) -> EasyHandle.Verdict {
        if isReleased { return .stop }
        guard download.engine.slots.rates.canReceive(token) else { return .pause }
        if bytes.count > buffer.room {
            guard head == nil, download.machine.isFlowing(id) else { return .pause }
            guard flush() else { return .stop }
        }
        buffer.append(bytes)
        download.engine.slots.rates.received(token, Int64(bytes.count))
        download.markDirty(self)
        return .accepted
    }

    /// Processes the buffered bytes as the machine's steps say, and empties the buffer.
    ///
    /// - Returns: `false` if the connection must end; `stop` then has the reason.
    func flush() -> Bool {
        var rest = buffer.bytes
        defer { buffer.removeAll() }
        while !rest.isEmpty {
            let step = download.machine.step(id)
            guard let taken = download.store(rest, of: self, step: step) else {
                if stop == nil { stop = .stopped }
                return false
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
        }
        return true
    }
}

/// The buffer of a connection for bytes that curl has delivered and that are not yet written to the file. It has memory
/// once bytes have arrived.
struct ReceiveBuffer: ~Copyable {
    private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var count = 0

    /// The size in bytes: large enough to make the cost of write calls negligible. Also the maximum memory of a
    /// response that must wait before its body is used.
    private static let capacity = 256 * 1024

    deinit { memory.deallocate() }

    var isEmpty: Bool { count == 0 }
    var room: Int { Self.capacity - count }

    /// The buffered bytes; valid until the next call of `append` or `removeAll`.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

    /// Returns the first buffered bytes, at most `most`; valid as long as `bytes`.
    func prefix(_ most: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<min(count, most)]) }

    /// Appends bytes.
    ///
    /// - Parameter new: At most `room` bytes.
    mutating func append(_ new: UnsafeRawBufferPointer) {
        if memory.isEmpty { memory = .allocate(byteCount: Self.capacity, alignment: 64) }
        UnsafeMutableRawBufferPointer(rebasing: memory[count..<count + new.count]).copyMemory(from: new)
        count += new.count
    }

    mutating func removeAll() { count = 0 }
}
