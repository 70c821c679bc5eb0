internal import Platform

/// A request whose response is received in memory, piece by piece, such as a feed or search results.
package struct DataRequest: Sendable {
    package var url: String
    package var fields: [(name: String, value: String)] = []
    /// The body of a POST; `nil` for a GET.
    package var body: [UInt8]?
    /// The User-Agent, overriding the engine's.
    package var userAgent: String?
    /// The address space (public, local network or loopback) of the feed or server that named `url`; `nil` if a person
    /// entered `url`. No redirect and no later DNS lookup can make the request reach a more private space.
    package var reach: AddressSpace?
    /// Credentials, sent only to URLs of their origin.
    package var credentials: Credentials?
    /// The maximum size of the response, in bytes after decoding.
    package var limit: Int
    /// The timeout for the whole response.
    package var timeout = DataExchange.timeout
    /// Whether redirects are followed; otherwise a redirect is the response. Use `false` with secret header fields:
    /// libcurl sends custom fields to any host that a redirect names.
    package var followsRedirects = true

    package init(url: String, limit: Int) {
        self.url = url
        self.limit = limit
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
    private let request: DataRequest
    private let receiver: any DataReceiver
    private(set) var handle: EasyHandle?
    /// The number of received bytes.
    private var received = 0
    /// Whether the response exceeds `DataRequest.limit`.
    private var tooLarge = false

    /// The default timeout: ten minutes, enough for the largest feed at one megabit a second. Without a timeout, a
    /// server that sends a byte now and then could delay a refresh forever.
    static let timeout = Duration.seconds(600)

    init(_ task: DataTask) {
        request = task.request
        receiver = task.receiver
    }

    /// - Parameter idle: A reusable curl handle.
    func makeHandle(configuration: TransferConfiguration, reusing idle: UnsafeMutableRawPointer?) -> EasyHandle? {
        var request = EasyHandle.Request(
            url: request.url, userAgent: request.userAgent ?? configuration.userAgent,
            connectTimeout: configuration.limits.stall, stall: configuration.limits.stall)
        request.fields = self.request.fields
        request.reach = self.request.reach
        request.decodes = true
        request.timeout = self.request.timeout
        request.followsRedirects = self.request.followsRedirects
        request.credentials = self.request.credentials
        request.body = self.request.body
        let handle = EasyHandle(request, in: configuration.network, reusing: idle)
        handle?.receiver = self
        self.handle = handle
        return handle
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

    /// Handles the end of the exchange; returns the requests to send next.
    func ended(_ code: CurlCode) -> [DataTask] {
        if tooLarge { return fail(TransferError(.unusable, "the answer is larger than \(request.limit) bytes")) }
        return code.isSuccess ? receiver.didEnd(nil) : fail(handle?.failure(code).error ?? code.failure.error)
    }

    @discardableResult
    func fail(_ error: TransferError) -> [DataTask] { receiver.didEnd(error) }
}
