import Platform

@testable import Transfers

typealias Machine = DownloadMachine

/// A `DownloadMachine` under test, with a clock and short names for its events. The bench is a class, so that `#expect`
/// can contain calls that change the machine.
final class MachineBench {
    var machine: Machine
    var now = Instant.seconds(1_000)

    init(
        pin: Pin? = nil, present: ByteRanges? = nil, isCached: Bool = false, knowsDirect: Bool = false,
        _ change: (inout Machine.Limits) -> Void = { _ in }
    ) {
        var limits = Machine.Limits()
        limits.reach = 1_000
        limits.overlap = 500
        // With the standard rate, a transfer of the few thousand bytes of a test file would not count as progress.
        limits.minRate = 0
        change(&limits)
        machine = Machine(
            generation: 1, pin: pin, present: present, isCached: isCached, knowsDirect: knowsDirect, limits: limits)
    }

    // MARK: Events

    func open(_ id: Int64) -> [Machine.Action] { machine.open(id, now: now) }
    func close() -> [Machine.Action] { machine.close(now: now) }
    func fill(_ priority: TransferPriority = .asked) -> [Machine.Action] { machine.fill(priority, now: now) }
    func retry() -> [Machine.Action] { machine.retry(now: now) }
    func cancel() -> [Machine.Action] { machine.cancel(now: now) }
    func suspend(_ suspended: Bool) -> [Machine.Action] { machine.setSuspended(suspended, now: now) }
    func allowAutomatic(_ allowed: Bool) -> [Machine.Action] { machine.setAllowsAutomatic(allowed, now: now) }
    func cancelWait(_ id: Int64) -> [Machine.Action] { machine.cancelWait(id, now: now) }

    /// Reads the first version of the file (its generation).
    func read(_ id: Int64, _ range: Range<Int64>) -> [Machine.Action] {
        machine.read(id, range, generation: 1, now: now)
    }

    func probeOpen(_ id: Int64) -> [Machine.Action] { machine.open(id, as: .probe, now: now) }

    func probe(_ id: Int64, _ range: Range<Int64>) -> [Machine.Action] {
        machine.read(id, range, generation: machine.generation, as: .probe, now: now)
    }

    func head(_ id: Int, _ head: ResponseHead, content: BodyContent? = nil) -> [Machine.Action] {
        machine.requestSent(id, now: now)
        return machine.head(id, head, content: content, now: now, random: 0)
    }

    func received(_ id: Int, _ count: Int64) -> [Machine.Action] { machine.received(id, count, now: now) }
    func passed(_ id: Int, _ count: Int64) { machine.passed(id, count, now: now) }
    func differs(_ id: Int) -> [Machine.Action] { machine.differs(id, now: now) }

    func ended(_ id: Int, _ ending: Machine.Ending) -> [Machine.Action] {
        machine.ended(id, ending, now: now, random: 0)
    }

    func failed(_ id: Int, _ code: TransferError.Code = .failed) -> [Machine.Action] {
        ended(id, .failure(TransferError(code, "broken")))
    }

    func storageFailed(_ error: TransferError) -> [Machine.Action] { machine.storageFailed(error, now: now) }
    func storageIsFull(_ error: TransferError) -> [Machine.Action] { machine.storageIsFull(error, now: now) }
    func awaitsSpace(_ reason: TransferError?) -> [Machine.Action] { machine.setAwaitsSpace(reason, now: now) }
    func exceedsSpace(_ error: TransferError) -> [Machine.Action] { machine.exceedsSpace(error, now: now) }
    func storageAvailable() -> [Machine.Action] { machine.storageAvailable(now: now) }

    func renewed(_ isNew: Bool) -> [Machine.Action] { machine.addressRenewed(isNew, now: now) }

    func finished() -> [Machine.Action] { machine.finished(nil, now: now) }

    /// Advances the clock without calling the machine's `tick`.
    func pass(_ milliseconds: Int64) { now += .milliseconds(milliseconds) }

    /// Advances the clock to the machine's deadline, and calls its `tick`.
    func tick() -> [Machine.Action] {
        now = max(now, machine.deadline ?? now)
        return machine.tick(now: now, random: 0)
    }

    /// Returns a bench with a task of 10,000 bytes, whose connection 1 has received the first 1,000.
    static func filling(_ change: (inout Machine.Limits) -> Void = { _ in }) -> MachineBench {
        let bench = MachineBench(change)
        _ = bench.fill()
        _ = bench.head(1, .whole())
        _ = bench.received(1, 1_000)
        return bench
    }
}

extension Validator {
    static let v1 = Validator.entityTag("\"v1\"")
}

extension Pin {
    static func pin(_ total: Int64? = 10_000, _ validator: Validator? = .v1, ranges: Bool = true) -> Pin {
        Pin(total: total, validator: validator, acceptsRanges: ranges)
    }
}

extension ResponseHead {
    static func whole(_ total: Int64? = 10_000, tag: String? = "\"v1\"") -> ResponseHead {
        var fields = ["content-type": "audio/mpeg"]
        fields["content-length"] = total.map { "\($0)" }
        fields["etag"] = tag
        return ResponseHead(status: 200, fields: fields)
    }

    static func part(_ range: Range<Int64>, of total: Int64? = 10_000, tag: String? = "\"v1\"") -> ResponseHead {
        var fields = ["content-type": "audio/mpeg"]
        let size = total.map { "\($0)" } ?? "*"
        fields["content-range"] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
        fields["etag"] = tag
        return ResponseHead(status: 206, fields: fields)
    }

    static func status(_ status: Int, _ fields: [String: String] = [:]) -> ResponseHead {
        ResponseHead(status: status, fields: fields)
    }
}

extension DownloadMachine.ConnectRequest {
    /// The request for the whole file.
    static func whole(direct: Bool = false, forReader: Bool = false, source: Int = 0) -> Self {
        Self(offset: 0, end: nil, ranged: false, ifRange: nil, direct: direct, forReader: forReader, source: source)
    }

    static func probe(_ range: Range<Int64>, ifRange: Validator? = .v1, direct: Bool = true) -> Self {
        var request = part(range, ifRange: ifRange, direct: direct, forReader: true)
        request.isProbe = true
        return request
    }

    static func part(
        _ range: Range<Int64>, ifRange: Validator? = .v1, direct: Bool = true, forReader: Bool = false
    ) -> Self {
        part(from: range.lowerBound, until: range.upperBound, ifRange: ifRange, direct: direct, forReader: forReader)
    }

    static func part(
        from offset: Int64, until end: Int64? = nil, ifRange: Validator? = .v1, direct: Bool = true,
        forReader: Bool = false
    ) -> Self {
        Self(offset: offset, end: end, ranged: true, ifRange: ifRange, direct: direct, forReader: forReader)
    }
}
