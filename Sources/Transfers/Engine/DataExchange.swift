/// A request over HTTP. As a *data request* its response is received in memory, piece by piece, such as a feed or
/// search results.
package struct DataRequest: Sendable {
    package var url: String
    package var fields: [(name: String, value: String)] = []
    /// The body of a POST that is in memory; its media type is in `fields`. `nil` for a GET.
    package var body: [UInt8]?
    /// The User-Agent, overriding the engine's.
    package var userAgent: String?
    /// The address space (public, local network or loopback) of the feed or server that named `url`; `nil` if a person
    /// entered `url`. No redirect and no later DNS lookup can make the request reach a more private space.
    package var reach: AddressSpace?
    /// Credentials, sent only to URLs of their origin.
    package var credentials: Credentials?
    /// The maximum size of the response to a data request, in bytes after decoding.
    package var limit: Int
    /// The timeout for the whole exchange, if any. The default is ten minutes, enough for the largest feed at one
    /// megabit a second. Without a timeout, a server that sends a byte now and then could delay a refresh forever.
    package var timeout: Duration? = .seconds(600)
    /// Whether redirects are followed; otherwise a redirect is the response. Use `false` with secret header fields:
    /// libcurl sends custom fields to any host that a redirect names.
    package var followsRedirects = true

    /// The value of the Range field without its unit: `0-99`, `100-`.
    var range: String?
    /// The connect timeout; `nil` for `DownloadMachine.Limits.stall`.
    var connectTimeout: Duration?
    /// The factor by which the time without a received byte after which curl ends the transfer exceeds
    /// `DownloadMachine.Limits.stall`.
    var stallFactor = 1
    /// Whether curl requests a compressed response (Accept-Encoding) and decodes it; `false` for media.
    var decodes = true
    /// The maximum rate in bytes per second; 0 for none. Here it only limits the size of the receive buffer; the
    /// receiver enforces the rate by pausing. curl's own limit is not used, because it applies to an average over at
    /// least the last three seconds. If it were lowered on a running handle, curl would stop the transfer until the
    /// average has fallen to the new limit, which can look like a stall.
    var rateLimit: Int64 = 0
    /// The number of other download requests in progress: the more there are, the smaller the receive buffer.
    var others = 0

    package init(url: String, limit: Int) {
        self.url = url
        self.limit = limit
    }

    /// Creates the request of a download or an upload.
    init(mediaAt url: String) {
        self.init(url: url, limit: .max)
        timeout = nil
        decodes = false
    }
}

/// A part of the response to a data request.
package enum DataEvent: Sendable {
    /// The head of the final response, whatever its status.
    case head(ResponseHead)
    case bytes([UInt8])
}

/// The receiver of a data request's response. Called on the engine's thread, which it must not block; if the engine has
/// ended, `didEnd` is called on the sender's thread.
package protocol DataReceiver: AnyObject, Sendable {
    /// Receives the head of the final response, whatever its status.
    func didReceive(_ head: ResponseHead)
    /// Receives a piece of the body, valid during the call.
    func didReceive(_ bytes: UnsafeRawBufferPointer)
    /// Receives the end of the response, with an error if it is incomplete. Called last.
    ///
    /// - Returns: Requests to send at once, without another thread switch.
    func didEnd(_ error: TransferError?) -> [DataTask]
}

/// A request and its receiver.
package struct DataTask: Sendable {
    package var request: DataRequest
    package var receiver: any DataReceiver

    package init(_ request: DataRequest, _ receiver: any DataReceiver) {
        self.request = request
        self.receiver = receiver
    }
}

/// A receiver that delivers a response as an async sequence.
final class DataStream: DataReceiver {
    private let continuation: AsyncThrowingStream<DataEvent, any Error>.Continuation

    init(_ continuation: AsyncThrowingStream<DataEvent, any Error>.Continuation) { self.continuation = continuation }

    func didReceive(_ head: ResponseHead) { continuation.yield(.head(head)) }

    func didReceive(_ bytes: UnsafeRawBufferPointer) { continuation.yield(.bytes([UInt8](bytes))) }

    func didEnd(_ error: TransferError?) -> [DataTask] {
        continuation.finish(throwing: error)
        return []
    }
}

/// A data request in progress. Confined to the engine's thread.
final class DataExchange: EasyHandleReceiver {
    let request: DataRequest
    private let receiver: any DataReceiver
    /// The number for `Exchanges.cancelData`.
    let number: Int64
    private unowned let engine: EngineLoop
    /// The number of received bytes.
    private var received = 0
    /// Whether the response exceeds `DataRequest.limit`.
    private var tooLarge = false

    init(_ task: DataTask, number: Int64, engine: EngineLoop) {
        request = task.request
        receiver = task.receiver
        self.number = number
        self.engine = engine
    }

    func easyHandle(_ handle: EasyHandle, didReceiveHead head: ResponseHead) { receiver.didReceive(head) }

    func easyHandle(_ handle: EasyHandle, didReceive bytes: UnsafeRawBufferPointer) -> EasyHandle.Verdict {
        let room = request.limit - received
        received += bytes.count
        if received > request.limit {
            // The bytes up to the limit are useful to a receiver that reads the beginning of a document.
            receiver.didReceive(UnsafeRawBufferPointer(rebasing: bytes.prefix(max(0, room))))
            tooLarge = true
            return .stop
        }
        receiver.didReceive(bytes)
        return .accepted
    }

    func easyHandle(_ handle: EasyHandle, didEnd code: CurlCode) {
        let error =
            tooLarge
            ? TransferError(.unusable, "the answer is larger than \(request.limit) bytes")
            : code.isSuccess ? nil : handle.failure(code).error
        let next = receiver.didEnd(error)
        engine.exchanges.recycle(handle)
        for task in next { engine.start(task, number: number) }
    }

    func fail(_ error: TransferError) { _ = receiver.didEnd(error) }
}
