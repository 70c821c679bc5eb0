import Foundation
import Platform
import PodcastFeed
import PodcastLibrary
import PodcastProtocol
import Synchronization
import TestSupport
import Testing

@testable import PodcastService

/// A wall clock that the test sets: the machine's clock plus `offset` seconds.
private final class SetClock: Sendable {
    let offset = Atomic<Int64>(0)
    var now: Int64 { Self.machine + offset.load(ordering: .relaxed) }
    static var machine: Int64 { Int64(Date().timeIntervalSince1970) }
}

private let year: Int64 = 31_557_600

extension SyncServiceTests {
    /// The daemon's clock jumps at the first, second or third request of an exchange. A local change is nevertheless
    /// uploaded with the time at which it was made, so it wins over an earlier change of another device.
    @Test(arguments: [-50 * year, -3 * 86_400, -7_200, 120, 3 * 86_400, 20 * year] as [Int64])
    func aClockThatIsSetDuringAnExchangeLosesNothing(jump: Int64) async throws {
        let clock = SetClock()
        let (daemon, client) = try await home.connect {
            $0.sync = SyncSchedule(interval: .seconds(3_600), delay: .seconds(3_600))
            $0.wallClock = { .seconds(clock.now) }
        }
        try await client.subscribe(feed)
        _ = try await client.perform(.syncLogin(request()))
        try await sync(client)
        for number in 1...3 {
            let id = try daemon.episode(number).id
            server.upload(action(number, 100, ago: 600))
            try await client.perform(.setPosition(episode: id, seconds: 500))
            let counted = RequestCount()
            server.setFault { _ in
                if counted.next() == number { clock.offset.add(jump, ordering: .relaxed) }
                return nil
            }
            try await sync(client)
            #expect(counted.count >= 3, "the clock was set during the exchange")
            #expect(try daemon.episode(number).position == 500)
            let sent = server.actions.last { ($0["device"] as? String) == "here" }
            #expect(sent?["position"] as? Int == 500 && sent?["episode"] as? String == home.web.url(home.media(number)))
            let time = (sent?["timestamp"] as? String).flatMap { SyncTime.seconds(.string(Array($0.utf8))) } ?? 0
            #expect(abs(time - SetClock.machine) < 120, "dated \(time - SetClock.machine) s after now")
            // The clock is corrected. After the next exchange nothing waits to be sent, and the position is unchanged.
            server.setFault { _ in nil }
            clock.offset.store(0, ordering: .relaxed)
            try await sync(client)
            let status = try await status(client)
            #expect(status.error == nil && status.waitingActions == 0 && status.waitingSubscriptions == 0)
            #expect(try #require(status.nextSync) - SetClock.machine < 4_000)
            #expect(try daemon.episode(number).position == 500)
        }
        #expect(try daemon.library.podcasts().map(\.name) == ["Show"])
    }
}

private final class RequestCount: Sendable {
    private let value = Atomic<Int>(0)
    var count: Int { value.load(ordering: .relaxed) }
    func next() -> Int { value.add(1, ordering: .relaxed).newValue }
}
