// The connections of a download and their bytes. A connection sends its request once it has one of the limited slots.
extension Download {
    /// Performs an action that changes curl's handles or their slots. Called only by `process`.
    private func performWithCurl(_ action: DownloadMachine.Action) {
        switch action {
        case .connect(let id, let request):
            // The machine may have ended the connection meanwhile.
            if machine.has(id) { connect(id, request) }
        case .abort(let id):
            if let connection = connections[id] { remove(connection) }
        case .hold(let id):
            guard let connection = connections[id] else { return }
            releaseSlot(connection)
        case .resume(let id, let forReader):
            guard let connection = connections[id] else { return }
            markDirty(connection)
            switch connection.slot {
            case .granted: connection.handle?.resume()
            case .waiting: setServing(connection, forReader)
            case .none:
                requestSlot(connection, forReader: forReader) { [self] in
                    markDirty(connection)
                    connection.handle?.resume()
                }
            }
        case .serving(let id, let serving):
            if let connection = connections[id] { setServing(connection, serving) }
        case .prioritized(let priority):
            for connection in connections.values {
                engine.slots.change { $0.setPriority(connection.token, priority, now: engine.now) }
            }
        default: break
        }
    }

    private func connect(_ id: DownloadMachine.ConnectionID, _ request: DownloadMachine.ConnectRequest) {
        let listed = source.location(request.source).url
        let url = request.direct ? origin?.url ?? listed : listed
        let connection = DownloadConnection(
            id: id, token: engine.slots.newToken(), url: url, request: request, download: self)
        connections[id] = connection
        requestSlot(connection, forReader: request.forReader) { [self] in start(connection) }
    }

    private func requestSlot(_ connection: DownloadConnection, forReader: Bool, start: @escaping () -> Void) {
        connection.slot = .waiting
        engine.slots.request(connection, forReader: forReader, priority: machine.priority, now: engine.now) {
            connection.slot = .granted
            start()
        }
    }

    private func setServing(_ connection: DownloadConnection, _ serving: Bool) {
        engine.slots.change { $0.setServing(connection.token, serving, now: engine.now) }
    }

    private func releaseSlot(_ connection: DownloadConnection) {
        connection.slot = .none
        engine.slots.release(connection.token, now: engine.now)
    }

    private func start(_ connection: DownloadConnection) {
        let asked = connection.request
        var request = DataRequest(mediaAt: connection.url)
        request.userAgent = source.userAgent
        request.connectTimeout = machine.connectTimeout
        request.reach = asked.direct ? origin?.reach ?? source.reach : source.reach
        request.rateLimit = rateLimit
        request.others = engine.exchanges.downloads
        request.credentials = source.credentials
        if asked.ranged { request.range = "\(asked.offset)-\(asked.end.map { "\($0 - 1)" } ?? "")" }
        if let validator = asked.ifRange { request.fields.append(("If-Range", validator.headerValue)) }
        guard let handle = EasyHandle(request, in: engine.configuration) else {
            connection.ending = .failure(TransferError(.failed, "out of memory"))
            markDirty(connection)
            return
        }
        connection.handle = handle
        machine.requestSent(connection.id, now: engine.now)
        engine.slots.rates.add(connection.token, group: source.key, groupLimit: source.rateLimit ?? 0, now: engine.now)
        engine.add(handle, owner: connection)
    }

    /// The maximum rate of a connection in bytes per second; 0 for no limit.
    private var rateLimit: Int64 { [engine.slots.rates.limit, source.rateLimit ?? 0].filter { $0 > 0 }.min() ?? 0 }

    func remove(_ connection: DownloadConnection) {
        connections[connection.id] = nil
        if let handle = connection.handle { engine.exchanges.remove(handle) }
        engine.slots.rates.remove(connection.token)
        releaseSlot(connection)
    }

    /// Ends a connection that must give up its slot to another one. The bytes that it has not delivered are requested
    /// again later.
    func preempt(_ connection: DownloadConnection) {
        if connection.head == nil, machine.isFlowing(connection.id) { _ = connection.flush() }
        remove(connection)
        apply(machine.ended(connection.id, .stopped, now: engine.now, random: 0))
    }

    /// Records the end of an exchange for `process`. If the machine has released the connection (it accepts no more of
    /// its bytes), removes the connection at once.
    func ended(_ connection: DownloadConnection, _ code: CurlCode) {
        if connection.isReleased {
            remove(connection)
            return
        }
        if code.isSuccess {
            connection.ending = .complete
        } else if code.isStopped, case .refusal? = connection.stop {
            connection.ending = connection.stop
        } else if code.isStopped, let rejection = connection.handle?.rejection {
            connection.ending = .refusal(rejection)
        } else if code.isStopped, let stop = connection.stop {
            connection.ending = stop
        } else {
            let failure = connection.handle?.failure(code) ?? code.failure
            if let handle = connection.handle, handle.hasNoAnswer, failure.isTransient {
                engine.slots.hostFailed(connection, failure.error, now: engine.now)
            }
            connection.ending = failure.isTransient ? .failure(failure.error) : .refusal(failure.error)
        }
        markDirty(connection)
    }

    func markDirty(_ connection: DownloadConnection) {
        if !connection.isDirty {
            connection.isDirty = true
            pending.connections.append(connection)
        }
        engine.downloads.markDirty(self)
    }

    /// Performs the work that was deferred while curl was calling back: the machine's actions, response heads, buffered
    /// bytes, and the ends of exchanges.
    func process() {
        while !pending.isEmpty {
            for action in exchange(&pending.actions, with: []) { performWithCurl(action) }
            for connection in exchange(&pending.connections, with: []) {
                connection.isDirty = false
                if self.connections[connection.id] === connection { process(connection) }
            }
        }
        report(force: false)
    }

    private func process(_ connection: DownloadConnection) {
        if let head = connection.head {
            var content: BodyContent?
            if machine.needsContent(connection.id, head) {
                content = connection.findContent()
                // The head stays pending until there are enough bytes to detect the content, or the response has ended.
                // The machine's deadline for the head still applies.
                if content == nil, connection.ending == nil { return }
            }
            connection.head = nil
            // 429 and 503: the host asks for fewer requests.
            if [429, 503].contains(head.status) {
                if head.redirects.isEmpty {
                    let error = TransferError(.failed, "the server answered \(head.status)")
                    engine.slots.hostFailed(connection, error, retryAfter: head.retryAfter, now: engine.now)
                }
            } else {
                engine.slots.hostAnswered(connection, now: engine.now)
            }
            let before = origin
            if let url = head.url { origin = Origin(url: url, reach: head.space) }
            apply(
                machine.head(
                    connection.id, head, content: content, now: engine.now, random: Double.random(in: 0..<1)))
            if !machine.has(connection.id), !connection.isReleased { origin = before }
            guard connections[connection.id] === connection, !connection.isReleased else { return }
        }
        if machine.isFlowing(connection.id), !connection.isEmpty, connection.canStore, !connection.flush() {
            // Storing failed. The reason for that becomes the ending, even if curl has already reached the end of the
            // body.
            connection.ending = connection.stop
        }
        guard connections[connection.id] === connection else { return }
        if connection.isReleased {
            if connection.ending != nil { remove(connection) }
            return
        }
        guard let ending = connection.ending else {
            // The connection may have paused curl because its buffer was full.
            if connection.slot == .granted, machine.isFlowing(connection.id) { connection.handle?.resume() }
            return
        }
        // While the machine holds a connection, bytes of its complete response may still be buffered. The end is
        // reported only after those bytes have been processed.
        guard connection.isEmpty || machine.isFlowing(connection.id) || ending != .complete else { return }
        remove(connection)
        apply(machine.ended(connection.id, ending, now: engine.now, random: Double.random(in: 0..<1)))
    }

    // MARK: Bytes

    /// The maximum size in bytes of a connection's first write. A waiting reader gets these bytes before the rest is
    /// written. The size covers the kernel's first reads, with a margin.
    private static let firstPiece = 64 * 1024

    /// Writes, skips or compares a prefix of `bytes`, as the machine's step requires.
    ///
    /// - Returns: The number of processed bytes; `nil` if the connection must end.
    func store(_ bytes: UnsafeRawBufferPointer, of connection: DownloadConnection, step: DownloadMachine.Step) -> Int? {
        guard let position = machine.position(of: connection.id), let file else { return nil }
        switch step {
        case .stop:
            return nil
        case .write(let until):
            var count = Int(min(Int64(bytes.count), until.map { $0 - position } ?? .max))
            if position == connection.request.offset { count = min(count, Self.firstPiece) }
            if position == 0 {
                guard let content = connection.findContent() else {
                    // A failure, unlike `stopped`, delays the next request.
                    connection.stop = .failure(TransferError(.failed, "the kind of the file could not be detected"))
                    return nil
                }
                if let refusal = machine.limits.expects.refusal(of: content) {
                    connection.stop = .refusal(refusal)
                    return nil
                }
            }
            do {
                try file.write(UnsafeRawBufferPointer(rebasing: bytes[..<count]), at: position)
            } catch {
                apply(machine.storageFailed(StorageFailure.describe(error), now: engine.now))
                return nil
            }
            rate.add(count, at: engine.now)
            checkpoints.add(Int64(count), at: engine.now)
            apply(machine.received(connection.id, Int64(count), now: engine.now))
            return count
        case .skip(let until):
            let count = Int(min(Int64(bytes.count), until - position))
            machine.passed(connection.id, Int64(count), now: engine.now)
            return count
        case .compare(let until):
            let count = Int(min(Int64(bytes.count), until - position))
            guard agrees(UnsafeRawBufferPointer(rebasing: bytes[..<count]), at: position, in: file) else {
                apply(machine.differs(connection.id, now: engine.now))
                return nil
            }
            machine.passed(connection.id, Int64(count), now: engine.now)
            return count
        }
    }

    /// Whether the file has these bytes at `offset`; `false` if it cannot be read.
    private func agrees(_ bytes: UnsafeRawBufferPointer, at offset: Int64, in file: CacheFile) -> Bool {
        let own = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
        defer { own.deallocate() }
        guard let count = try? file.read(into: own, at: offset), count == bytes.count else { return false }
        return own.elementsEqual(bytes)
    }
}
