extension DownloadMachine {
    /// A request, and what has come of it.
    struct Connection: Sendable, Equatable {
        enum Stage: Sendable, Equatable {
            /// The head of the answer is to come: since the request was sent, or `nil` while it waits for its turn. → receiving
            case requested(since: Int64?)
            case receiving(Body)
        }

        /// An answer that the machine has accepted.
        struct Body: Sendable, Equatable {
            enum Flow: Sendable, Equatable {
                case running
                /// Nobody waits for its bytes now; it goes on soon.
                case paused
                /// Paused with no end in sight: it is ended at that moment.
                case held(until: Int64)
            }

            /// The answer is a 206: its end need not be the file's.
            let isPart: Bool
            /// Where the body ends by what its head says.
            var end: Int64?
            /// What its head gives as the length, where no file can be as long.
            let excess: String?
            /// The validator of the answer, to be believed once the comparison has gone well.
            var found: Validator?
            var flow = Flow.running
            /// It has brought a byte that was missing.
            var hasWritten = false

            var isHeld: Bool { if case .held = flow { true } else { false } }
        }

        let request: ConnectRequest
        /// The offset of the next byte.
        var position: Int64
        /// Bytes from here on belong to others.
        var limit: Int64?
        /// Bytes that are present already have to be compared with what it brings.
        var compares: Bool
        /// A blocked reader waits for its bytes, as last told to the driver.
        var serves: Bool
        var stage = Stage.requested(since: nil)
        /// When it last brought bytes of the body, or was last kept from it.
        var heard: Int64 = .min

        /// `nil` until the head has been accepted.
        var body: Body? {
            get { if case .receiving(let body) = stage { body } else { nil } }
            set { if let newValue { stage = .receiving(newValue) } }
        }

        var isReceiving: Bool { body != nil }

        /// Since when the server owes a head or bytes; `nil` while nothing is expected of it.
        var silentSince: Int64? {
            switch stage {
            case .requested(let since): since
            case .receiving(let body): body.flow == .running ? heard : nil
            }
        }
    }

    struct Connections: Sendable, Equatable {
        private var table: [ConnectionID: Connection] = [:]
        private var last: ConnectionID = 0

        var isEmpty: Bool { table.isEmpty }
        var count: Int { table.count }
        /// The oldest first.
        var ids: [ConnectionID] { table.keys.sorted() }
        var all: Dictionary<ConnectionID, Connection>.Values { table.values }
        var areReceiving: Bool { table.values.contains { $0.isReceiving } }

        subscript(_ id: ConnectionID) -> Connection? {
            get { table[id] }
            set { table[id] = newValue }
        }

        /// Whether another one than `id` brings bytes.
        func areReceiving(beside id: ConnectionID) -> Bool { table.contains { $0.key != id && $0.value.isReceiving } }

        mutating func add(_ connection: Connection) -> ConnectionID {
            last += 1
            table[last] = connection
            return last
        }

        @discardableResult
        mutating func remove(_ id: ConnectionID) -> Connection? { table.removeValue(forKey: id) }

        mutating func removeAll() { table = [:] }

        /// Ends those that are not to stay.
        mutating func abort(but isKept: (ConnectionID) -> Bool) -> [Action] {
            let ended = ids.filter { !isKept($0) }
            for id in ended { table[id] = nil }
            return ended.map { .abort($0) }
        }
    }
}
