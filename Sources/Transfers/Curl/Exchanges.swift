internal import CCurl

/// The requests in progress in curl, and their owners.
///
/// Confined to the engine's thread.
final class Exchanges {
    enum Owner {
        case download(DownloadConnection)
        case upload(Upload)
        /// - Parameter number: The number for `cancelData`.
        case data(DataExchange, number: Int64)
    }

    private let multi: MultiHandle
    private var owners: [ObjectIdentifier: Owner] = [:]
    /// curl handles of completed data requests, for reuse.
    private var idleHandles: [OpaquePointer] = []
    /// The default of `refresh.connections`, the number of feeds fetched concurrently.
    private static let maxIdleHandles = 64
    /// Whether requests were added that curl has not started yet.
    private(set) var hasNew = false
    /// The number of download requests in progress.
    private(set) var downloads = 0

    init?() {
        guard let multi = MultiHandle() else { return nil }
        self.multi = multi
    }

    deinit { for handle in idleHandles { EasyHandle.discard(handle) } }

    func add(_ handle: EasyHandle, owner: Owner) {
        if case .download = owner { downloads += 1 }
        owners[ObjectIdentifier(handle)] = owner
        multi.add(handle)
        hasNew = true
    }

    /// Cancels a request. Must not be called in a callback of curl.
    func remove(_ handle: EasyHandle) {
        _ = removeOwner(of: handle)
        multi.remove(handle)
    }

    private func removeOwner(of handle: EasyHandle) -> Owner? {
        let owner = owners.removeValue(forKey: ObjectIdentifier(handle))
        if case .download? = owner { downloads -= 1 }
        return owner
    }

    /// Advances all requests without blocking; calls the callbacks.
    func perform() {
        hasNew = false
        multi.perform()
    }

    /// Returns the next completed request with curl's code.
    func nextEnded() -> (owner: Owner, handle: EasyHandle, code: CurlCode)? {
        while let (handle, code) = multi.nextEnded() {
            if let owner = removeOwner(of: handle) { return (owner, handle, code) }
        }
        return nil
    }

    /// See `MultiHandle.wait`.
    func wait(for longest: Duration?, descriptors: [Int32]) -> [Bool] {
        multi.wait(for: longest, descriptors: descriptors)
    }

    // MARK: Data requests

    func start(_ exchange: DataExchange, number: Int64, configuration: TransferConfiguration) {
        guard let handle = exchange.makeHandle(configuration: configuration, reusing: idleHandles.popLast()) else {
            exchange.fail(TransferError(.failed, "out of memory"))
            return
        }
        add(handle, owner: .data(exchange, number: number))
    }

    /// Retains the handle of a completed data request for reuse, up to `maxIdleHandles`.
    func recycle(_ handle: EasyHandle) {
        if idleHandles.count < Self.maxIdleHandles, let idle = handle.surrender() { idleHandles.append(idle) }
    }

    /// Cancels the data requests with this number. Must not be called in a callback of curl.
    func cancelData(_ number: Int64) {
        for case .data(let exchange, number) in owners.values {
            if let handle = exchange.handle { remove(handle) }
        }
    }

    /// Reports the end of the engine to the receivers of data, and discards their requests.
    func failData(_ error: TransferError) {
        for case .data(let exchange, _) in owners.values { exchange.fail(error) }
        owners = owners.filter { if case .data = $0.value { false } else { true } }
    }
}
