import Platform
import TestSupport
import Testing
import Transfers

/// A driver of a `DownloadMachine`. Performs the machine's actions on a model of server, disk and readers, and checks
/// each result.
struct MachineSimulation {
    struct Violation: Error, CustomStringConvertible {
        var description: String
    }

    private struct Connection {
        var request: DownloadMachine.ConnectRequest
        var hasBegun = false
        var answer: ModelServer.Answer?
        /// The offset of the next byte of the body.
        var position: Int64 = 0
    }

    private struct Reader {
        var range: Range<Int64>
        var generation: Int
    }

    var machine: DownloadMachine
    var server: ModelServer
    var random: SeededGenerator
    private(set) var now = Instant.seconds(1_000)
    private var connections: [Int: Connection] = [:]
    /// The written bytes by offset, for each generation.
    private var files: [Int: [Int64: UInt8]] = [:]
    private var abandoned: Set<Int> = []
    private var opens: Set<Int64> = []
    private var reads: [Int64: Reader] = [:]
    private var handles = 0
    private var lastWait: Int64 = 0
    private var finishing = false
    private(set) var log: [String] = []
    /// The errors returned to readers.
    private(set) var errors: [TransferError] = []
    /// The number of bytes received on all connections, including those that were skipped or compared because they were
    /// present already.
    private(set) var wire: Int64 = 0

    init(machine: DownloadMachine, server: ModelServer, random: SeededGenerator) {
        self.machine = machine
        self.server = server
        self.random = random
    }

    private func check(_ holds: Bool, _ message: @autoclosure () -> String) throws {
        if !holds { throw Violation(description: message()) }
    }

    private mutating func fraction() -> Double { Double.random(in: 0..<1, using: &random) }

    // MARK: Events

    mutating func randomEvent() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<6: try open(as: kind())
        case 6..<20: try read(as: kind())
        case 20..<24: try close()
        case 24..<27: try cancelWait()
        case 27..<28: try perform("fill", machine.fill(now: now))
        case 28..<29: try perform("automatic", machine.fill(.automatic, now: now))
        case 29..<31: try perform("suspend", machine.setSuspended(true, now: now))
        case 31..<34: try perform("unsuspend", machine.setSuspended(false, now: now))
        case 34..<35: try perform("cancel", machine.cancel(now: now))
        case 35..<37: try perform("retry", machine.retry(now: now))
        case 37..<45: try pass(Int64.random(in: 1...2_000, using: &random))
        case 45..<46: try pass(Int64.random(in: 1...70_000, using: &random))
        case 46..<47: try fullStorage()
        case 49..<52: try perform("renewed", machine.addressRenewed(random.chance(50), now: now))
        case 53..<55: try allowAutomatic(random.chance(50))
        case 55..<56: try awaitSpace(random.chance(50))
        case 52..<53: try perform("address", machine.addressChanged(now: now))
        case 47..<49: try perform("space", machine.storageAvailable(now: now))
        default: try moveConnection()
        }
    }

    private mutating func kind() -> ReaderKind { random.chance(40) ? .probe : .player }

    /// Whether every connection serves a probe (a program that reads only headers and tags).
    private var fetchesNothingElse: Bool { connections.values.allSatisfy(\.request.isProbe) }

    private mutating func allowAutomatic(_ allowed: Bool) throws {
        try perform("automatic \(allowed)", machine.setAllowsAutomatic(allowed, now: now))
        let rests = machine.isWaitingForConditions && !machine.hasBlockedReaders && handles == 0
        try check(!rests || fetchesNothingElse, "an automatic task holds a connection")
    }

    private mutating func awaitSpace(_ awaits: Bool) throws {
        let reason = awaits ? TransferError(.diskFull, "full") : nil
        let hadSpace = machine.awaitsSpace == nil
        try perform("awaits space \(awaits)", machine.setAwaitsSpace(reason, now: now))
        // Checked only when the task begins to wait for space. Later a reader may come and go, and the machine keeps
        // the reader's connection for a while.
        let rests = hadSpace && machine.isWaitingForSpace && !machine.hasBlockedReaders && handles == 0
        try check(!rests || fetchesNothingElse, "a task without space holds a connection")
    }

    private mutating func fullStorage() throws {
        let error = TransferError(.diskFull, "full")
        try perform("full", machine.storageIsFull(error, now: now))
        try check(connections.isEmpty && opens.isEmpty && reads.isEmpty, "something goes on without space")
    }

    mutating func open(as kind: ReaderKind = .player) throws {
        lastWait += 1
        opens.insert(lastWait)
        try perform("\(kind) open \(lastWait)", machine.open(lastWait, as: kind, now: now))
    }

    mutating func read(_ wanted: Range<Int64>? = nil, as kind: ReaderKind = .player) throws {
        lastWait += 1
        let start = Int64.random(in: 0...server.size + 3, using: &random)
        let range = wanted ?? start..<start + Int64.random(in: 1...40, using: &random)
        let generation = wanted != nil || random.chance(97) ? machine.generation : machine.generation - 1
        reads[lastWait] = Reader(range: range, generation: generation)
        try perform(
            "\(kind) read \(lastWait) \(range)",
            machine.read(lastWait, range, generation: generation, as: kind, now: now))
    }

    mutating func close() throws {
        guard handles > 0 else { return }
        handles -= 1
        try perform("close", machine.close(now: now))
    }

    private mutating func cancelWait() throws {
        guard let id = (Array(opens) + reads.keys).sorted().randomElement(using: &random) else { return }
        opens.remove(id)
        reads[id] = nil
        try perform("cancelWait \(id)", machine.cancelWait(id, now: now))
    }

    /// Advances the clock, and calls the machine's `tick` each time its deadline comes.
    mutating func pass(_ milliseconds: Int64) throws {
        let end = now + .milliseconds(milliseconds)
        while let due = machine.deadline, due <= end {
            now = max(now, due)
            try perform("tick \(now)", machine.tick(now: now, random: fraction()))
            if let next = machine.deadline { try check(next > now, "the deadline does not move") }
        }
        now = end
    }

    mutating func moveConnection() throws {
        if finishing, random.chance(50) {
            finishing = false
            return try perform("finished", machine.finished(nil, now: now))
        }
        let movable = connections.filter { !$0.value.hasBegun || $0.value.answer == nil || machine.isFlowing($0.key) }
        guard let id = movable.keys.sorted().randomElement(using: &random), var connection = connections[id] else {
            return
        }
        if !connection.hasBegun {
            connections[id]?.hasBegun = true
            machine.requestSent(id, now: now)
            return
        }
        guard let answer = connection.answer else {
            if random.chance(server.brokenness / 2) {
                connections[id] = nil
                let error = TransferError(random.chance(50) ? .unreachable : .failed, "no answer")
                return try perform("lost \(id)", machine.ended(id, .failure(error), now: now, random: fraction()))
            }
            let answer = server.answer(connection.request, &random)
            connection.answer = answer
            connection.position = answer.body.lowerBound
            connections[id] = connection
            return try perform(
                "head \(id) \(answer.head) of \(connection.request)",
                machine.head(
                    id, answer.head, content: machine.needsContent(id, answer.head) ? answer.content : nil, now: now,
                    random: fraction()))
        }
        if connection.position == answer.body.upperBound {
            connections[id] = nil
            let ending: DownloadMachine.Ending =
                answer.isWhole ? .complete : .failure(TransferError(.failed, "broken off"))
            return try perform("end \(id) \(ending)", machine.ended(id, ending, now: now, random: fraction()))
        }
        try receive(id, Int64.random(in: 1...60, using: &random))
    }

    private mutating func receive(_ id: Int, _ most: Int64) throws {
        guard let answer = connections[id]?.answer, var position = connections[id]?.position else { return }
        let start = position
        defer { wire += position - start }
        let end = min(answer.body.upperBound, position + most)
        while position < end, machine.isFlowing(id) {
            let generation = machine.generation
            try check(machine.position(of: id) == position, "the machine and the body are not at the same byte")
            let step = machine.step(id)
            log.append("\(id) at \(position): \(step)")
            switch step {
            case .stop:
                connections[id] = nil
                return try perform("stopped \(id)", machine.ended(id, .stopped, now: now, random: fraction()))
            case .write where position == 0 && answer.content == .document(.webPage):
                connections[id] = nil
                let error = TransferError(.unusable, "a page")
                return try perform("page \(id)", machine.ended(id, .refusal(error), now: now, random: fraction()))
            case .write(let until):
                let count = min(end, until ?? end) - position
                try check(count > 0, "a step of no bytes")
                try check(!abandoned.contains(generation), "a write to an abandoned file")
                for offset in position..<position + count {
                    try check(files[generation] != nil, "a write without a file")
                    try check(files[generation]?[offset] == nil, "byte \(offset) was written twice")
                    files[generation]?[offset] = ModelServer.byte(answer.rendition, offset)
                }
                position += count
                connections[id]?.position = position
                try perform("received \(id)", machine.received(id, count, now: now))
            case .skip(let until), .compare(let until):
                let count = min(end, until) - position
                try check(count > 0, "a step of no bytes")
                let agrees = (position..<position + count).allSatisfy { offset in
                    files[generation]?[offset] == ModelServer.byte(answer.rendition, offset)
                }
                if step == .compare(until: until), !agrees {
                    return try perform("differs \(id)", machine.differs(id, now: now))
                }
                position += count
                connections[id]?.position = position
                machine.passed(id, count, now: now)
            }
        }
    }

    /// Whether no connection is open, no open or read waits for an answer, and no file is being finished.
    var isQuiet: Bool { connections.isEmpty && opens.isEmpty && reads.isEmpty && !finishing }

    // MARK: Actions

    private mutating func perform(_ event: String, _ actions: [DownloadMachine.Action]) throws {
        log.append("\(now) \(event): \(actions)")
        for action in actions { try perform(action) }
        try check(connections.count <= 2, "more than two connections")
        try check(Set(connections.keys.filter { !machine.has($0) }).isEmpty, "a connection was left behind")
        for (generation, file) in files where !abandoned.contains(generation) {
            try check(generation == machine.generation, "a file outlived its generation")
            try check(file.count == machine.present.byteCount, "present ranges and written bytes differ")
        }
    }

    private mutating func perform(_ action: DownloadMachine.Action) throws {
        switch action {
        case .connect(let id, let request):
            try check(connections[id] == nil, "connection \(id) twice")
            connections[id] = Connection(request: request)
        case .abort(let id), .release(let id):
            // A connection that has just ended by itself is already gone.
            connections[id] = nil
        case .pause(let id), .hold(let id), .resume(let id, _), .serving(let id, _):
            try check(connections[id] != nil, "\(action) of an unknown connection")
        case .confirmed: break
        case .createFile(let generation, _):
            try check(files[generation] == nil, "a second file for generation \(generation)")
            files[generation] = [:]
        case .abandonFile(let generation):
            try check(files[generation] != nil && !abandoned.contains(generation), "no file to abandon")
            abandoned.insert(generation)
        case .answerOpen(let id, let error):
            try check(opens.remove(id) != nil, "open \(id) was answered twice")
            if error == nil { handles += 1 }
        case .answerRead(let id, let error):
            guard let reader = reads.removeValue(forKey: id) else { throw Violation(description: "read \(id) twice") }
            if let error {
                errors.append(error)
                // When a reader gets an error, a filling task that is not suspended must show an error to the user too.
                let isTold = machine.error == error || machine.error != nil || !machine.isFilling || machine.isSuspended
                try check(isTold || [.changed, .unprobed].contains(error.code), "no reason is shown for \(error)")
            }
            if error == nil { try checkAnswer(reader) }
        case .finish:
            finishing = true
        case .failed, .storageFull, .renewAddress, .prioritized: break
        }
    }

    /// Checks that a successful read is of the current generation, and that all its bytes are present.
    private func checkAnswer(_ reader: Reader) throws {
        try check(reader.generation == machine.generation, "success for an old generation")
        let end = machine.pin?.total.map { min($0, reader.range.upperBound) } ?? reader.range.upperBound
        guard reader.range.lowerBound < end else { return }
        for offset in reader.range.lowerBound..<end {
            try check(files[reader.generation]?[offset] != nil, "byte \(offset) is not there")
        }
    }

    /// Returns the renditions to which the bytes of a file can belong.
    private func renditions(of file: [Int64: UInt8]) -> [Int] {
        server.sizes.indices.filter { rendition in
            file.allSatisfy { ModelServer.byte(rendition, $0.key) == $0.value }
        }
    }

    /// Checks that all bytes of each file are from one rendition.
    func checkFiles() throws {
        for (generation, file) in files {
            try check(!renditions(of: file).isEmpty, "generation \(generation) mixes renditions")
        }
    }

    /// Makes the server well-behaved, runs until the file is complete, and checks that the machine becomes idle.
    mutating func settle() throws {
        server.badness = 0
        server.brokenness = 0
        server.stopsAt = nil
        try perform("space", machine.storageAvailable(now: now))
        try perform("space for the whole", machine.setAwaitsSpace(nil, now: now))
        try perform("unsuspend", machine.setSuspended(false, now: now))
        try perform("retry", machine.retry(now: now))
        var rounds = 0
        while !machine.isCached {
            rounds += 1
            try check(rounds < 20_000, "it does not become whole")
            try moveConnection()
            if rounds % 7 == 0 { try pass(50) }
            if random.chance(20) { try perform("renewed", machine.addressRenewed(true, now: now)) }
            if machine.failure != nil { try perform("retry", machine.retry(now: now)) }
        }
        try check(opens.isEmpty && reads.isEmpty, "somebody was forgotten: \(opens) \(reads.keys)")
        try checkFiles()
        let file = files[machine.generation] ?? [:]
        // A file that was complete before the server replaced it is as valid as one of the new rendition.
        let isWhole = renditions(of: file).contains { server.sizes[$0] == Int64(file.count) }
        try check(isWhole, "\(file.count) bytes, of \(renditions(of: file)) of \(server.sizes)")
        while handles > 0 { try close() }
        try pass(70_000)
        try check(machine.isIdle, "it is not idle")
        try check(machine.deadline == nil, "it has a deadline and nothing to do")
    }
}
