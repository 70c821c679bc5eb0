package import TransferCore

/// A request whose answer is wanted in memory, piece by piece: a feed, a search.
package struct DataRequest: Sendable {
    package var url: String
    package var fields: [(name: String, value: String)] = []
    /// Sent by POST; `nil` asks by GET.
    package var body: [UInt8]?
    package var userAgent: String?
    /// The space of what named the address: a redirect, or a name whose answers change, leads to no more private one.
    /// `nil` where a person gave the address.
    package var reach: AddressSpace?
    /// Sent when they fit the address.
    package var credentials: Credentials?
    /// The answer is cut here, in bytes after decoding.
    package var limit: Int
    /// Milliseconds to the end of the answer.
    package var timeout: Int64 = DataExchange.timeout
    /// Whether a redirect is followed; else it is the answer. Fields that prove who asks want `false`: libcurl sends
    /// fields of one's own to whatever host a redirect names.
    package var followsRedirects = true

    package init(url: String, limit: Int) {
        self.url = url
        self.limit = limit
    }
}

/// What comes of a data request.
package enum DataEvent: Sendable {
    /// The head of the final answer, whatever its status.
    case head(ResponseHead)
    case bytes([UInt8])
}

/// Who is told of the answer to a data request, on the engine's thread, which must not be blocked.
package protocol DataReceiver: AnyObject, Sendable {
    /// The head of the final answer, whatever its status.
    func didReceive(_ head: ResponseHead)
    /// A piece of the body. It is there for the time of the call.
    func didReceive(_ bytes: UnsafeRawBufferPointer)
    /// The answer has ended, with an error when it is not whole. It is the last that is heard of the request.
    ///
    /// - Returns: requests to be sent at once, without a way over another thread.
    func didEnd(_ error: TransferError?) -> [DataTask]
}

/// A request, and who wants the answer.
package struct DataTask: Sendable {
    package var request: DataRequest
    package var receiver: any DataReceiver

    package init(_ request: DataRequest, _ receiver: any DataReceiver) {
        self.request = request
        self.receiver = receiver
    }
}

/// Makes a sequence of an answer.
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

/// One data request on its way. Belongs to the engine's thread.
final class DataExchange: EasyHandleReceiver {
    private let request: DataRequest
    private let receiver: any DataReceiver
    private(set) var handle: EasyHandle?
    private var received = 0
    private var tooLarge = false

    /// Ten minutes in all, in milliseconds: the largest feed at one megabit a second; a server that sends a byte now and
    /// then would keep a refresh for ever.
    static let timeout: Int64 = 600_000

    init(_ task: DataTask) {
        request = task.request
        receiver = task.receiver
    }

    /// - Parameter idle: a curl handle that may be used again.
    func makeHandle(configuration: TransferConfiguration, reusing idle: OpaquePointer?) -> EasyHandle? {
        var request = EasyHandle.Request(
            url: request.url, userAgent: request.userAgent ?? configuration.userAgent,
            connectTimeout: configuration.limits.stall, stall: max(1, configuration.limits.stall / 1_000))
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
            // Up to the limit it is of use to a receiver that takes the beginning of a document.
            receiver.didReceive(UnsafeRawBufferPointer(rebasing: bytes.prefix(max(0, room))))
            tooLarge = true
            return .stop
        }
        receiver.didReceive(bytes)
        return .taken
    }

    /// - Returns: what is to be sent next.
    func ended(_ code: CurlCode) -> [DataTask] {
        if tooLarge { return fail(TransferError(.unusable, "the answer is larger than \(request.limit) bytes")) }
        return code.isSuccess ? receiver.didEnd(nil) : fail(handle?.failure(code).error ?? code.failure.error)
    }

    @discardableResult
    func fail(_ error: TransferError) -> [DataTask] { receiver.didEnd(error) }
}
