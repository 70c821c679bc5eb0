internal import CLinux
internal import Glibc
internal import Platform

/// The body of a `ConditionMonitor`'s thread. Created and used only there.
final class ConditionWatch {
    /// Interval in microseconds at which sysfs is polled where a sandbox blocks the kernel's power events.
    private static let rereadInterval: UInt64 = 60_000_000

    /// First delay before reconnecting to the bus. Doubled from a second, which suits a bus that restarts or starts
    /// after podfs, to an hour, which costs nothing where there never is one. sd-bus could wait for the socket to
    /// appear instead, but misses a bus that has bound it and does not listen yet.
    private static let firstRetry: UInt64 = 1_000_000
    private static let lastRetry: UInt64 = 3_600_000_000

    /// A connection that lasted this long resets the delay to the first one.
    private static let goodConnection: UInt64 = 60_000_000

    private let board: ConditionBoard
    private let stopper: StopSignal
    private let supplies: PowerSupplies
    private var events: PowerEvents?
    private let link: NetworkManagerLink

    private var conditions = LinkConditions()
    /// Time at which conditions not yet read count as unknown.
    private let firstReadingDeadline: UInt64
    /// Whether the first reading has been published.
    private var isPublished = false

    /// When to reconnect, while disconnected.
    private var retryTime: UInt64 = 0
    private var retryDelay = ConditionWatch.firstRetry
    private var connectedTime: UInt64 = 0
    private var rereadTime: UInt64 = 0

    init(_ options: ConditionMonitor.Options, board: ConditionBoard, stopper: StopSignal) {
        self.board = board
        self.stopper = stopper
        supplies = PowerSupplies(directory: options.powerSupplies)
        if let descriptor = options.powerEvents {
            events = PowerEvents(descriptor: descriptor)
        } else {
            events = PowerEvents()
        }
        link = NetworkManagerLink(address: options.busAddress)
        firstReadingDeadline = Self.now() + UInt64(options.patience / .microseconds(1))
    }

    /// Runs until the monitor is released.
    func run() {
        // The first reading follows the opening of the socket, so that no change is missed.
        readPower()
        while true {
            tendLink()
            publish()
            guard wait() else { return }
        }
    }

    // MARK: Power

    private func readPower() {
        conditions.isOnBattery = supplies.isOnBattery()
        rereadTime = Self.now() + Self.rereadInterval
    }

    private func takePowerEvents() {
        switch events?.drain() {
        case .changed: readPower()
        case .ended: events = nil
        case .nothing, nil: break
        }
    }

    // MARK: The link

    private func tendLink() {
        let now = Self.now()
        if link.isConnected {
            if !link.process() { retryLater(now) }
        } else if now >= retryTime {
            if link.connect() { connectedTime = now } else { retryLater(now) }
        }
        conditions.isMetered = link.isMetered
    }

    private func retryLater(_ now: UInt64) {
        if connectedTime > 0, now - connectedTime >= Self.goodConnection { retryDelay = Self.firstRetry }
        connectedTime = 0
        retryTime = now + retryDelay
        retryDelay = min(retryDelay * 2, Self.lastRetry)
    }

    // MARK: Waiting

    private func publish() {
        isPublished = isPublished || link.isSettled || Self.now() >= firstReadingDeadline
        if isPublished { board.post(conditions) }
    }

    /// The earliest time at which work is due without an event.
    private var deadline: UInt64? {
        var times: [UInt64] = []
        if let deadline = link.deadline { times.append(deadline) }
        if !link.isConnected { times.append(retryTime) }
        if !isPublished { times.append(firstReadingDeadline) }
        if events == nil { times.append(rereadTime) }
        return times.min()
    }

    /// Sleeps until an event or the deadline.
    ///
    /// - Returns: `false` if the thread is to stop.
    private func wait() -> Bool {
        // poll(2) ignores negative descriptors.
        var descriptors = [
            pollfd(fd: stopper.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: events?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: link.descriptor, events: link.events, revents: 0),
        ]
        let count = poll(&descriptors, nfds_t(descriptors.count), Self.milliseconds(until: deadline))
        guard count >= 0 else {
            // A signal, or no memory for the call: neither is a reason to stop watching.
            return errno == EINTR || errno == EAGAIN || errno == ENOMEM
        }
        if descriptors[0].revents != 0 { return false }
        if descriptors[1].revents != 0 { takePowerEvents() }
        if events == nil, Self.now() >= rereadTime { readPower() }
        return true
    }

    /// Returns the timeout rounded up, so that the deadline has passed when poll returns; -1 waits for events only.
    private static func milliseconds(until deadline: UInt64?) -> Int32 {
        guard let deadline else { return -1 }
        let now = now()
        guard deadline > now else { return 0 }
        return Int32(clamping: (deadline - now + 999) / 1_000)
    }

    /// Returns microseconds of CLOCK_MONOTONIC, the clock of sd_bus_get_timeout(3).
    private static func now() -> UInt64 { UInt64(SystemClock.monotonic.microseconds) }
}
