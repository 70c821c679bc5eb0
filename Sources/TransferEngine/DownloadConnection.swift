internal import TransferCore

/// One request of a download: curl's exchange, and a buffer between it and the file.
///
/// Confined to the engine's thread. While curl is active only the buffer and the file are accessed; operations on curl
/// follow in `Download.process`.
///
/// The bytes of a paused connection stay in the buffer; when it is full, or the rate limit is reached, curl is paused.
final class DownloadConnection: EasyHandleReceiver {
    let id: DownloadMachine.ConnectionID
    let token: ConnectionPools.Token
    let url: String
    let request: DownloadMachine.ConnectRequest
    unowned let download: Download
    var handle: EasyHandle?
    /// A head that the machine has not processed yet.
    var head: ResponseHead?
    var ending: DownloadMachine.Ending?
    /// Whether the machine has released it; it only completes its exchange.
    var isReleased = false
    var wasStopped = false
    /// The reason why its body is rejected, if the body itself shows it.
    var rejection: TransferError?
    /// The content shown by the first bytes of its body, once there are enough.
    private(set) var content: BodyContent?
    /// Whether it is in the download's list of connections with events.
    var isDirty = false
    /// Whether it has a slot of `ConnectionPools`, or waits for one. A held response has none.
    var hasTurn = false
    var awaitsTurn = false

    /// It brings no bytes because it may not: for a limit of rate, or for want of a turn.
    var isRestrained: Bool { !hasTurn || handle?.isPaused == true }

    private let buffer: UnsafeMutableRawBufferPointer
    private var count = 0

    /// The buffer's size: large enough to make the cost of calls negligible, and the limit of a held response's memory.
    private static let capacity = 256 * 1024

    init(
        id: DownloadMachine.ConnectionID, token: ConnectionPools.Token, url: String,
        request: DownloadMachine.ConnectRequest, download: Download
    ) {
        self.id = id
        self.token = token
        self.url = url
        self.request = request
        self.download = download
        buffer = .allocate(byteCount: Self.capacity, alignment: 64)
    }

    deinit { buffer.deallocate() }

    var isEmpty: Bool { count == 0 }

    /// Whether its next bytes are the first of the file, and none are stored.
    var startsFile: Bool {
        guard head == nil, download.machine.position(of: id) == 0, case .write = download.machine.step(id) else {
            return false
        }
        return true
    }

    /// The first buffered bytes, as many as the kernel reads for a program that starts with less than a page
    /// (get_init_ra_size in mm/readahead.c: four pages); none if the body is or may be unexpected.
    var firstBytes: [UInt8] {
        guard let content = findContent(), download.machine.limits.expects.refusal(of: content) == nil else {
            return []
        }
        return Array(UnsafeRawBufferPointer(rebasing: buffer[..<min(count, 4 * 4_096)]))
    }

    /// Classifies the first bytes of the body, all of which are still buffered.
    ///
    /// - Parameter head: The stronger its doubt, the more bytes are examined.
    /// - Returns: `nil` if more bytes are needed.
    @discardableResult
    func findContent(_ head: ResponseHead? = nil) -> BodyContent? {
        if content == nil {
            content = BodyContent(
                UnsafeRawBufferPointer(rebasing: buffer[..<count]), isWhole: ending != nil,
                searches: head?.doubt == .strong)
        }
        return content
    }

    /// Whether the buffered bytes may be stored.
    var mayStore: Bool { !startsFile || findContent() != nil || ending != nil }

    func easyHandle(_ handle: EasyHandle, didReceiveHead head: ResponseHead) {
        self.head = head
        download.markDirty(self)
    }

    func easyHandle(_ handle: EasyHandle, didReceive bytes: UnsafeRawBufferPointer) -> EasyHandle.Verdict {
        if isReleased { return .stop }
        guard download.engine.rates.mayReceive(token) else { return .pause }
        if count + bytes.count > buffer.count {
            guard head == nil, download.machine.isReceiving(id) else { return .pause }
            guard flush() else { return .stop }
        }
        guard let base = buffer.baseAddress else { return .stop }
        base.advanced(by: count).copyMemory(from: bytes.baseAddress ?? UnsafeRawPointer(base), byteCount: bytes.count)
        count += bytes.count
        download.engine.rates.received(token, Int64(bytes.count))
        download.markDirty(self)
        return .taken
    }

    /// Writes the buffered bytes where the machine says.
    ///
    /// - Returns: `false` if the connection must end.
    func flush() -> Bool {
        var start = 0
        defer { count = 0 }
        while start < count {
            let rest = UnsafeRawBufferPointer(rebasing: buffer[start..<count])
            let step = download.machine.step(id)
            guard let taken = download.store(rest, of: self, step: step) else {
                wasStopped = true
                return false
            }
            start += taken
        }
        return true
    }
}
