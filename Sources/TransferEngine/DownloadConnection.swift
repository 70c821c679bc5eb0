internal import TransferCore

/// One request of a download: curl's exchange, and a buffer between it and the file.
///
/// Belongs to the engine's thread. While curl is at work nothing but the buffer and the file is touched; what needs curl
/// is done afterwards, in `Download.process`.
///
/// The bytes of a connection that is paused wait in the buffer; when that is full curl is told to keep the rest. So it
/// is when the connection has brought as much as the limits of rate allow.
final class DownloadConnection: EasyHandleReceiver {
    let id: DownloadMachine.ConnectionID
    let token: ConnectionPools.Token
    let url: String
    let request: DownloadMachine.ConnectRequest
    unowned let download: Download
    var handle: EasyHandle?
    /// A head that the machine has not seen yet.
    var head: ResponseHead?
    var ending: DownloadMachine.Ending?
    /// The machine has let go of it; it only runs to its end.
    var isReleased = false
    var wasStopped = false
    /// Why its body is none, when the body itself shows it.
    var rejection: TransferError?
    /// What the first bytes of its body show, once there are enough of them.
    private(set) var content: BodyContent?
    /// It is among the download's connections with news.
    var isDirty = false
    /// It has one of the places that `ConnectionPools` gives, or waits for one. A held response has none.
    var hasTurn = false
    var awaitsTurn = false

    private let buffer: UnsafeMutableRawBufferPointer
    private var count = 0

    /// Bytes are written in pieces of this size at the most: large enough that the calls cost little beside the copying,
    /// and what a held response may keep of its body in memory.
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

    /// Whether what it brings next are the first bytes of the file, and none are stored.
    var startsFile: Bool {
        guard head == nil, download.machine.position(of: id) == 0, case .write = download.machine.step(id) else {
            return false
        }
        return true
    }

    /// Of the bytes in the buffer, as many as the kernel reads for a program that begins with less than a page
    /// (get_init_ra_size in mm/readahead.c: four pages); none of a body that is not what is expected, or may not be.
    var firstBytes: [UInt8] {
        guard let content = findContent(), download.machine.limits.expects.refusal(of: content) == nil else {
            return []
        }
        return Array(UnsafeRawBufferPointer(rebasing: buffer[..<min(count, 4 * 4_096)]))
    }

    /// Looks at the first bytes of the body, all of which are still in the buffer.
    ///
    /// - Parameter head: how much it speaks against media decides how many bytes are looked at.
    /// - Returns: `nil` when more have to come.
    @discardableResult
    func findContent(_ head: ResponseHead? = nil) -> BodyContent? {
        if content == nil {
            content = BodyContent(
                UnsafeRawBufferPointer(rebasing: buffer[..<count]), isWhole: ending != nil,
                searches: head?.doubt == .strong)
        }
        return content
    }

    /// Whether it is known of the bytes in the buffer that they may be stored.
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

    /// Puts the buffered bytes where the machine says they belong.
    ///
    /// - Returns: `false` when the connection is to end.
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
