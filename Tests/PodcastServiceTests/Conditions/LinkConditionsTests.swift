import PodcastService
import TestSupport
import Testing

struct LinkConditionsTests {
    @Test func aMeteredLinkHoldsBackUnlessAllowed() {
        let conditions = LinkConditions(isMetered: true, isOnBattery: false)
        #expect(!conditions.allowsDiscretionary(allowMetered: false, allowBattery: false))
        #expect(!conditions.allowsDiscretionary(allowMetered: false, allowBattery: true))
        #expect(conditions.allowsDiscretionary(allowMetered: true, allowBattery: false))
    }

    @Test func aBatteryHoldsBackUnlessAllowed() {
        let conditions = LinkConditions(isMetered: false, isOnBattery: true)
        #expect(!conditions.allowsDiscretionary(allowMetered: false, allowBattery: false))
        #expect(!conditions.allowsDiscretionary(allowMetered: true, allowBattery: false))
        #expect(conditions.allowsDiscretionary(allowMetered: false, allowBattery: true))
    }

    @Test func bothMustBeAllowed() {
        let conditions = LinkConditions(isMetered: true, isOnBattery: true)
        #expect(!conditions.allowsDiscretionary(allowMetered: true, allowBattery: false))
        #expect(!conditions.allowsDiscretionary(allowMetered: false, allowBattery: true))
        #expect(conditions.allowsDiscretionary(allowMetered: true, allowBattery: true))
    }

    @Test(arguments: [
        LinkConditions.unknown, LinkConditions(isMetered: false, isOnBattery: nil),
        LinkConditions(isMetered: nil, isOnBattery: false), LinkConditions(isMetered: false, isOnBattery: false),
    ])
    func whatIsUnknownOrFreeIsAllowed(conditions: LinkConditions) {
        #expect(conditions.allowsDiscretionary(allowMetered: false, allowBattery: false))
    }

    @Test func whatIsUnknownDoesNotOutweighWhatIsKnown() {
        let battery = LinkConditions(isMetered: nil, isOnBattery: true)
        #expect(!battery.allowsDiscretionary(allowMetered: false, allowBattery: false))
        let metered = LinkConditions(isMetered: true, isOnBattery: nil)
        #expect(!metered.allowsDiscretionary(allowMetered: false, allowBattery: false))
    }

    @Test func constantConditionsAreToldOnceToEachListener() async throws {
        let conditions = LinkConditions(isMetered: true, isOnBattery: false)
        let source = ConditionSource.constant(conditions)
        #expect(source.current() == conditions)
        let streams = [source.changes(), source.changes()]
        for stream in streams { #expect(try await change(in: stream) { _ in true } == conditions) }
    }
}

/// Waits for the first element that matches. The stream can be used again afterwards, except after a failure.
func change(
    in stream: AsyncStream<LinkConditions>, deadline: Duration = .seconds(60),
    where fits: @escaping @Sendable (LinkConditions) -> Bool
) async throws -> LinkConditions {
    try await withThrowingTaskGroup(of: LinkConditions.self) { group in
        defer { group.cancelAll() }
        group.addTask {
            for await conditions in stream where fits(conditions) { return conditions }
            throw DeadlineError("the conditions change: their stream has ended")
        }
        group.addTask {
            try await Task.sleep(for: deadline)
            throw DeadlineError("the conditions change")
        }
        guard let first = try await group.next() else { throw DeadlineError("the conditions change") }
        return first
    }
}
