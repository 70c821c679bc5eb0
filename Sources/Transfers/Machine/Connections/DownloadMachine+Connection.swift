internal import Platform

extension DownloadMachine {
    /// A request and the state of its response.
    struct Connection: Sendable, Equatable {
        enum Stage: Sendable, Equatable {
            /// The head has not arrived. `since` is the time at which the request was sent; `nil` while it waits for a
            /// slot (a place among the limited number of connections). → receiving
            case requested(since: Instant?)
            case receiving(Body)
        }

        /// An accepted response.
        struct Body: Sendable, Equatable {
            enum Flow: Sendable, Equatable {
                case running
                /// Paused briefly, because no reader waits for its bytes.
                case paused
                /// Paused, and without a slot, until its bytes are needed. If they are not needed by this time, the
                /// connection ends.
                case held(until: Instant)
            }

            /// Whether the response is a 206, whose end need not be the end of the file.
            let isPart: Bool
            /// The offset in the file at which the body ends according to the response head; `nil` if the head does
            /// not state it.
            var end: Int64?
            /// Whether only the end of the connection marks the end of the body.
            let endsAtClose: Bool
            /// The response's validator. If the connection compares, it applies to the file only after the comparison
            /// has succeeded.
            var found: Validator?
            var flow = Flow.running
            /// Whether the connection has delivered a byte that was missing.
            var hasWritten = false

            var isHeld: Bool { if case .held = flow { true } else { false } }
        }

        let request: ConnectRequest
        /// The offset of the next byte.
        var position: Int64
        /// The offset at which the connection must stop; `nil` if no limit is known. It is the end of the file, the end
        /// of the blocks that a probe needs, or the offset of the first byte that is already present or that another
        /// connection fetches.
        var limit: Int64?
        /// Whether the connection fetches bytes only for probes, which are programs that only read tags. Such a
        /// connection runs until `limit` even if there is no task.
        var isProbe: Bool
        /// Whether received bytes have to be compared with bytes that are already in the file.
        var compares: Bool
        /// Whether a blocked reader waits for its bytes, as last reported to the driver, which performs the machine's
        /// actions.
        var serves: Bool
        var stage = Stage.requested(since: nil)
        /// The time from which the server's silence is measured: the arrival of the head or of the last bytes, or the
        /// last time at which the driver blocked the connection or the machine resumed it.
        var lastActivity = Instant.start

        /// The accepted response; `nil` until its head has arrived.
        var body: Body? {
            get { if case .receiving(let body) = stage { body } else { nil } }
            set { if let newValue { stage = .receiving(newValue) } }
        }

        var isReceiving: Bool { body != nil }

        /// Whether it fetches a part for probes, and its request was sent.
        var isPartForProbe: Bool {
            switch stage {
            case .requested(let since): isProbe && request.ranged && since != nil
            case .receiving(let body): isProbe && body.isPart
            }
        }

        /// The time since which a head or bytes have been expected from the server; `nil` while none are.
        var silentSince: Instant? {
            switch stage {
            case .requested(let since): since
            case .receiving(let body): body.flow == .running ? lastActivity : nil
            }
        }
    }

    /// The connections by id.
    struct Connections: Sendable, Equatable {
        private var table: [ConnectionID: Connection] = [:]
        private var last: ConnectionID = 0

        var isEmpty: Bool { table.isEmpty }
        var count: Int { table.count }
        /// The ids, oldest first.
        var ids: [ConnectionID] { table.keys.sorted() }
        var all: Dictionary<ConnectionID, Connection>.Values { table.values }
        var areReceiving: Bool { table.values.contains { $0.isReceiving } }

        subscript(_ id: ConnectionID) -> Connection? {
            get { table[id] }
            set { table[id] = newValue }
        }

        /// Returns whether a connection other than `id` receives bytes.
        func areReceiving(beside id: ConnectionID) -> Bool { table.contains { $0.key != id && $0.value.isReceiving } }

        mutating func add(_ connection: Connection) -> ConnectionID {
            last += 1
            table[last] = connection
            return last
        }

        @discardableResult
        mutating func remove(_ id: ConnectionID) -> Connection? { table.removeValue(forKey: id) }

        mutating func removeAll() { table = [:] }

        /// Ends all connections except those for which `isKept` returns true.
        mutating func abort(but isKept: (ConnectionID) -> Bool) -> [Action] {
            let ended = ids.filter { !isKept($0) }
            for id in ended { table[id] = nil }
            return ended.map { .abort($0) }
        }
    }
}
