package import TransferCore

/// A request whose answer is wanted in memory, piece by piece: a feed, a search.
package struct DataRequest: Sendable {
    package var url: String
    package var fields: [(name: String, value: String)] = []
    /// Sent by POST; `nil` asks by GET.
    package var body: [UInt8]?
    package var userAgent: String?
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

/// One data request on its way. Belongs to the engine's thread once started.
final class DataExchange: EasyHandleReceiver {
    private let request: DataRequest
    private let continuation: AsyncThrowingStream<DataEvent, any Error>.Continuation
    private(set) var handle: EasyHandle?
    private var received = 0
    private var tooLarge = false

    /// Ten minutes in all, in milliseconds: the largest feed at one megabit a second; a server that sends a byte now and
    /// then would keep a refresh for ever.
    static let timeout: Int64 = 600_000

    init(_ request: DataRequest, continuation: AsyncThrowingStream<DataEvent, any Error>.Continuation) {
        self.request = request
        self.continuation = continuation
    }

    func makeHandle(configuration: TransferConfiguration) -> EasyHandle? {
        var request = EasyHandle.Request(
            url: request.url, userAgent: request.userAgent ?? configuration.userAgent,
            connectTimeout: configuration.limits.stall, stall: max(1, configuration.limits.stall / 1_000))
        request.fields = self.request.fields
        request.netrcFile = configuration.netrcFile
        request.decodes = true
        request.timeout = self.request.timeout
        request.followsRedirects = self.request.followsRedirects
        request.credentials = self.request.credentials
        request.body = self.request.body
        let handle = EasyHandle(request)
        handle?.receiver = self
        self.handle = handle
        return handle
    }

    func easyHandle(_ handle: EasyHandle, didReceiveHead head: ResponseHead) { continuation.yield(.head(head)) }

    func easyHandle(_ handle: EasyHandle, didReceive bytes: UnsafeRawBufferPointer) -> EasyHandle.Verdict {
        received += bytes.count
        if received > request.limit {
            tooLarge = true
            return .stop
        }
        continuation.yield(.bytes([UInt8](bytes)))
        return .taken
    }

    func ended(_ code: CurlCode) {
        if tooLarge {
            fail(TransferError(.unusable, "the answer is larger than \(request.limit) bytes"))
        } else if code.isSuccess {
            continuation.finish()
        } else {
            fail(handle?.rejection ?? code.failure.error)
        }
    }

    func fail(_ error: TransferError) { continuation.finish(throwing: error) }
}
