internal import Glibc
internal import Platform
internal import PodcastProtocol

/// The MPRIS players on a D-Bus bus at the time of the call.
package enum PlayerList {
    /// Returns the players' names, such as `vlc`, sorted; `nil` if there is no bus at the address, the connection is
    /// lost, or a reply does not arrive in time. Blocks for at most `timeout`.
    package static func names(at address: String, within timeout: Duration = .seconds(1)) -> [String]? {
        let found = Found()
        guard
            let bus = PlayerBus(
                address: address,
                receive: { input in
                    if case .appeared(_, let name, _) = input { found.names.append(name) }
                })
        else { return nil }
        let end = SystemClock.monotonic.now + timeout
        while bus.unanswered > 0 {
            guard let hasMore = bus.process() else { return nil }
            let rest = (end - SystemClock.monotonic.now).milliseconds
            if rest <= 0 { return nil }
            if hasMore || bus.unanswered == 0 { continue }
            var waiting = pollfd(fd: bus.descriptor, events: bus.events, revents: 0)
            _ = poll(&waiting, 1, Int32(clamping: rest))
        }
        return found.names.sorted()
    }

    private final class Found {
        var names: [String] = []
    }
}
