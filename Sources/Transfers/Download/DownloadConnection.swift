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
    /// Bytes that curl has delivered and that are not yet written to the file.
    private var buffer: [UInt8] = []

    /// The maximum size of the buffer in bytes: large enough to make the cost of write calls negligible. Also the
    /// maximum memory of a response that must wait before its body is used.
    private static let capacity = 256 * 1024

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

    /// Classifies the first bytes of the body, all of which are still buffered; `nil` if more bytes are needed.
    func findContent() -> BodyContent? {
        if content == nil {
            content = BodyContent(buffer, isWhole: ending != nil)
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
        if buffer.count + bytes.count > Self.capacity {
            guard head == nil, download.machine.isFlowing(id) else { return .pause }
            guard flush() else { return .stop }
        }
        if buffer.isEmpty { buffer.reserveCapacity(Self.capacity) }
        buffer.append(contentsOf: bytes)
        download.engine.slots.rates.received(token, Int64(bytes.count))
        download.markDirty(self)
        return .accepted
    }

    func easyHandle(_ handle: EasyHandle, didEnd code: CurlCode) { download.ended(self, code) }

    /// Processes the buffered bytes as the machine's steps say, and empties the buffer.
    ///
    /// - Returns: `false` if the connection must end; `stop` then has the reason.
    func flush() -> Bool {
        defer { buffer.removeAll(keepingCapacity: true) }
        return buffer.withUnsafeBytes { bytes in
            var done = 0
            while done < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
                guard let taken = download.store(rest, of: self, step: download.machine.step(id)) else {
                    if stop == nil { stop = .stopped }
                    return false
                }
                done += taken
            }
            return true
        }
    }
}
