internal import Platform
internal import Transfers

/// One computation of a `StoragePlan`: which files to evict, and which transfers may proceed.
struct StorageRound {
    /// An evictable file.
    private struct Victim {
        var file: String
        var bytes: Int64
        /// The time of the last use. A background download evicts the file only if the download was requested at or
        /// after this time; `nil` for played files and partial files, to which this rule does not apply.
        var lastUse: WallTime?
        /// The download that writes this partial file; `nil` for other files.
        var transfer: MediaID?
    }

    private let policy: StoragePolicy
    private let snapshot: StorageSnapshot
    /// The disk space to leave free, in bytes.
    private let floor: Int64
    /// The transfers that would proceed if they had the space, and those whose files programs have open, in order of
    /// precedence.
    private let ranked: [StorageTransfer]
    /// The remaining evictable files, in the order of eviction.
    private var victims: [Victim]
    /// The transfers whose partial files are evicted.
    private var dropped: Set<MediaID> = []
    private var plan = StoragePlan()

    // Bytes in the cache, free on the disk, and reserved. 128 bits, which no sum of sizes can overflow, whatever a file
    // system reports.
    private var used: Int128
    private var free: Int128
    private var reservedBytes: Int128 = 0

    init(policy: StoragePolicy, snapshot: StorageSnapshot) {
        self.policy = policy
        self.snapshot = snapshot
        floor = policy.limits.floor(total: snapshot.diskTotal)
        // A transfer that has received more than the capacity is about to fail. Its bytes do not count here, so that
        // they cause no evictions; once it has failed, its partial file counts like any other.
        let tooLarge = snapshot.transfers.filter { transfer in
            transfer.isWanted && !transfer.isRead && transfer.received > policy.limits.capacity
        }
        used = Int128(snapshot.used) - tooLarge.reduce(0) { $0 + Int128($1.received) }
        free = Int128(snapshot.diskFree)
        let order = snapshot.transfers.map { (Self.rank($0, policy), $0) }
            .sorted { ($0.0, $0.1.number, $0.1.id) < ($1.0, $1.1.number, $1.1.id) }.map(\.1)
        ranked = order.filter { $0.isWanted || $0.isRead }
        let files = snapshot.files.filter(\.isEvictable).sorted {
            $0.isPlayed == $1.isPlayed ? $0.lastUse < $1.lastUse : $0.isPlayed
        }
        victims =
            files.map { Victim(file: $0.id, bytes: $0.bytes, lastUse: $0.isPlayed ? nil : $0.lastUse) }
            + order.reversed().compactMap { transfer in
                guard transfer.isEvictable, let file = transfer.file, !tooLarge.contains(transfer) else { return nil }
                return Victim(file: file, bytes: transfer.received, transfer: transfer.id)
            }
    }

    /// The precedence of transfers: those whose files programs have open, then those that may proceed, then the others.
    /// Within each group, transfers are compared by these properties, in order: not waiting for a retry; a known size;
    /// requested, not automatic; with a reservation from the previous round (so that no transfer of equal rank takes
    /// the space); the lower number (created earlier), which this function leaves out.
    ///
    /// A transfer of unknown size never has a complete reservation, so its reservation does not count. Of several such
    /// transfers, the one created first continues at the others' expense. Otherwise two of them could take each other's
    /// space forever.
    private static func rank(_ transfer: StorageTransfer, _ policy: StoragePolicy) -> Int {
        let isGrowing = size(of: transfer, limits: policy.limits) == nil
        let lacksReservation = isGrowing || !policy.adopted.reserved.contains(transfer.id)
        let demand = transfer.isRead ? 0 : transfer.isWanted ? 1 : 2
        return demand << 4 | (transfer.isRetrying ? 8 : 0) | (isGrowing ? 4 : 0) | (transfer.isAutomatic ? 2 : 0)
            | (lacksReservation ? 1 : 0)
    }

    mutating func run() -> StoragePlan {
        restoreLimits()
        for transfer in ranked {
            if transfer.isRead { serve(transfer) } else { admit(transfer) }
        }
        plan.stopReason = stopReason()
        plan.exceedsLimits = used > Int128(max(0, policy.limits.capacity)) || free < Int128(floor)
        plan.used = used
        plan.reservedBytes = reservedBytes
        if plan.exceedsLimits || plan.stopReason != nil { plan.lacksRoom = true }
        if plan.stopReason?.limit == .write {
            // Omit downloads that wait only for the disk: the engine has suspended them, and detects free space by
            // itself.
            plan.waiting = plan.waiting.filter { [.cache, .cacheAndDisk].contains($0.value.limit) }
        }
        return plan
    }

    // MARK: Space

    /// The free disk space below which nothing may grow: the larger of `floor` and the space that was free at the last
    /// failed write.
    private var growthFloor: Int128 { max(Int128(floor), Int128(policy.freeAtFailedWrite ?? 0)) }

    /// The number of bytes that can be reserved without eviction.
    private var room: Int128 { min(Int128(max(0, policy.limits.capacity)) - used, free - growthFloor) - reservedBytes }

    /// The purpose of an eviction, which determines the files that it may evict.
    private enum Purpose {
        /// To keep within the limits, or for a reader: all files.
        case limits
        /// To write again after a failed write: those that no download writes. A partial file would be fetched again,
        /// and the write would fail again.
        case refusedWrite
        /// For a background transfer.
        case background(StorageTransfer, isGrowing: Bool)
    }

    private func mayEvict(_ victim: Victim, for purpose: Purpose) -> Bool {
        switch purpose {
        case .limits: return true
        case .refusedWrite: return victim.transfer == nil
        case .background(let transfer, let isGrowing):
            guard let part = victim.transfer else { return victim.lastUse.map { $0 <= transfer.asked } ?? true }
            // A transfer of unknown size may never fit as a whole, so it evicts no partial file of a higher-ranked
            // transfer that waits. Otherwise the two transfers could evict each other's partial files forever.
            return part != transfer.id && !plan.reserved.contains(part) && (!isGrowing || plan.waiting[part] == nil)
        }
    }

    /// Returns the number of bytes that evictions can free.
    private func evictable(for purpose: Purpose) -> Int128 {
        victims.reduce(0) { $0 + (mayEvict($1, for: purpose) ? Int128($1.bytes) : 0) }
    }

    /// Evicts files in order until at least `bytes` are freed, or none is left.
    private mutating func evict(atLeast bytes: Int128, for purpose: Purpose) {
        var freed: Int128 = 0
        var rest: [Victim] = []
        for victim in victims {
            guard freed < bytes, mayEvict(victim, for: purpose) else {
                rest.append(victim)
                continue
            }
            freed += Int128(victim.bytes)
            plan.evictions.append(victim.file)
            if let transfer = victim.transfer { dropped.insert(transfer) }
        }
        victims = rest
        used -= freed
        free += freed
    }

    /// Evicts files until `bytes` fit. Returns `false`, without an eviction, if that is impossible.
    private mutating func makeRoom(_ bytes: Int128, for purpose: Purpose) -> Bool {
        let lacking = bytes - room
        if lacking <= 0 { return true }
        plan.lacksRoom = true
        guard evictable(for: purpose) >= lacking else { return false }
        evict(atLeast: lacking, for: purpose)
        return true
    }

    // MARK: Decisions

    /// Evicts until the existing files are within the limits, which may have been lowered, or exceeded by a reader or
    /// another program.
    private mutating func restoreLimits() {
        let excess = max(used - Int128(max(0, policy.limits.capacity)), Int128(floor) - free)
        if excess > 0 || policy.freeAtFailedWrite != nil { plan.lacksRoom = true }
        if excess > 0 { evict(atLeast: excess, for: .limits) }
        guard let failed = policy.freeAtFailedWrite, !ranked.isEmpty else { return }
        let lacking = Int128(failed) + Int128(StoragePolicy.minRegained) - free
        if lacking > 0, evictable(for: .refusedWrite) >= lacking { evict(atLeast: lacking, for: .refusedWrite) }
    }

    /// Returns the size of a transfer; `nil` if it is unknown. An unconfirmed size above `cache.limit` is ignored: the
    /// server will state the real one.
    private static func size(of transfer: StorageTransfer, limits: StorageLimits) -> Int64? {
        guard let expected = transfer.expected else { return nil }
        return transfer.isConfirmed || expected <= limits.capacity ? expected : nil
    }

    /// Returns the number of bytes that remain in the cache after the evictions so far.
    private func received(of transfer: StorageTransfer) -> Int64 {
        dropped.contains(transfer.id) ? 0 : max(0, transfer.received)
    }

    /// Returns the number of bytes that must fit before a transfer proceeds: the rest of the file, or at
    /// most `growthReservation` if its size is unknown.
    private func need(of transfer: StorageTransfer) -> Int64 {
        let received = received(of: transfer)
        if let size = Self.size(of: transfer, limits: policy.limits), size >= received { return size - received }
        let rest = policy.limits.capacity.subtractingReportingOverflow(received)
        return min(policy.growthReservation, max(1, rest.overflow ? policy.growthReservation : rest.partialValue))
    }

    /// Reserves space for the rest of an open file. If the rest does not fit within the limits, evicts only until
    /// `lookAhead` bytes (or the rest, if smaller) can be written to the disk; the cache may then become larger than
    /// `cache.limit`.
    private mutating func serve(_ transfer: StorageTransfer) {
        let need = Int128(need(of: transfer))
        if !makeRoom(need, for: .limits) {
            let lacking = min(need, Int128(StoragePolicy.lookAhead)) - (free - growthFloor)
            if lacking > 0 { evict(atLeast: lacking, for: .limits) }
        }
        reservedBytes += need
        plan.reserved.insert(transfer.id)
    }

    /// Reserves space for a background transfer, or lets it wait or fail.
    private mutating func admit(_ transfer: StorageTransfer) {
        let known = Self.size(of: transfer, limits: policy.limits)
        let least = max(known ?? 0, received(of: transfer))
        if least > policy.limits.capacity {
            plan.failures[transfer.id] = shortage(.size(least), incoming: 0)
            return
        }
        let need = need(of: transfer)
        if makeRoom(Int128(need), for: .background(transfer, isGrowing: known == nil)) {
            reservedBytes += Int128(need)
            plan.reserved.insert(transfer.id)
            // A lower-ranked transfer must not evict its partial file.
            if transfer.file != nil { victims.removeAll { $0.transfer == transfer.id } }
        } else {
            plan.waiting[transfer.id] = shortage(incoming: need)
        }
    }

    /// Returns the reason why nothing may be written, not even for readers; `nil` if there is space.
    private func stopReason() -> StorageShortage? {
        guard !ranked.isEmpty else { return nil }
        let readers = ranked.filter(\.isRead)
        let wanted = readers.reduce(Int128(0)) { $0 + Int128(need(of: $1)) }
        if floor > 0 {
            let left = free - Int128(floor)
            let least = min(wanted, Int128(StoragePolicy.lookAhead))
            if left + evictable(for: .limits) < max(1, least) {
                return shortage(.disk, incoming: Int64(clamping: least))
            }
        }
        guard let failed = policy.freeAtFailedWrite else { return nil }
        let regained = free - Int128(failed)
        let enough = min(Int128(StoragePolicy.minRegained), max(1, readers.isEmpty ? reservedBytes : wanted))
        let isServed = readers.isEmpty ? !plan.reserved.isEmpty && regained >= enough : regained >= enough
        if isServed || regained >= Int128(StoragePolicy.minRegained) { return nil }
        return shortage(.write, incoming: 0)
    }

    /// Returns the reason why `incoming` bytes do not fit, with the present usage of cache and disk, and their limits.
    ///
    /// - Parameter limit: what they would exceed; `nil` to determine it.
    private func shortage(_ limit: StorageShortage.Limit? = nil, incoming: Int64) -> StorageShortage {
        let limits = policy.limits
        let isCacheFull = Int128(max(0, limits.capacity)) - used - reservedBytes < Int128(incoming)
        let isDiskFull = free - Int128(floor) - reservedBytes < Int128(max(1, incoming))
        return StorageShortage(
            limit: limit ?? (isCacheFull ? isDiskFull ? .cacheAndDisk : .cache : isDiskFull ? .disk : .write),
            used: Int64(clamping: max(0, used)), reserved: Int64(clamping: reservedBytes), capacity: limits.capacity,
            free: Int64(clamping: free), floor: floor, isFloorConfigured: limits.keepFree != nil, incoming: incoming)
    }
}
