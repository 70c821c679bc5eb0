import Platform
import Testing

@testable import PodcastService

struct UpkeepPlannerTests {
    private var planner = UpkeepPlanner(idleExit: .seconds(300))
    private var now = Moment(wall: .seconds(1_700_000_000), uptime: .seconds(50))
    private static let idle = UpkeepPlanner.State(isIdle: true)
    private static let connected = UpkeepPlanner.State(isIdle: false)

    private mutating func pass(_ duration: Duration) {
        now.wall += duration
        now.uptime += duration
    }

    private mutating func tick(_ state: UpkeepPlanner.State) -> [Effect] {
        planner.tick(at: now)
        return planner.plan(state, at: now)
    }

    @Test mutating func anIdleDaemonLeavesOnceAndOnlyAfterItsTime() {
        _ = planner.plan(Self.idle, at: now)
        pass(.seconds(299))
        #expect(!tick(Self.idle).contains(.leave))
        pass(.seconds(1))
        #expect(tick(Self.idle).contains(.leave))
        pass(.seconds(1))
        #expect(!tick(Self.idle).contains(.leave))
        // A client has connected meanwhile, so the idle time starts again.
        #expect(!planner.plan(Self.connected, at: now).contains(.leave))
        pass(.seconds(400))
        #expect(!tick(Self.idle).contains(.leave))
        pass(.seconds(300))
        #expect(tick(Self.idle).contains(.leave))
    }

    @Test mutating func aDueChoreIsPerformedOnceAndTheScheduleIsReadAgain() {
        _ = planner.plan(Self.connected, at: now)
        planner.schedule([.refresh: now.wall + .seconds(20), .backUp: now.wall + .seconds(700)])
        #expect(planner.plan(Self.connected, at: now) == [.wake(at: now.uptime + .milliseconds(20_010))])
        pass(.milliseconds(20_010))
        #expect(tick(Self.connected) == [.perform(.refresh), .wake(at: now.uptime + .seconds(1))])
        pass(.seconds(1))
        #expect(tick(Self.connected) == [.readSchedule, .wake(at: .milliseconds(50_000 + 700_010))])
    }

    @Test mutating func coversWaitForTheConditionsWithoutWakingTheDaemon() {
        var state = Self.connected
        state.allowsDiscretionary = false
        _ = planner.plan(state, at: now)
        planner.schedule([.fetchCovers: now.wall - .seconds(5), .refresh: now.wall + .seconds(700)])
        #expect(planner.plan(state, at: now) == [.wake(at: now.uptime + .milliseconds(700_010))])
        #expect(planner.isDue(.fetchCovers, at: now))
        pass(.seconds(30))
        #expect(tick(state) == [.wake(at: now.uptime + .milliseconds(670_010))])
        state.allowsDiscretionary = true
        #expect(planner.plan(state, at: now).first == .perform(.fetchCovers))
        #expect(!planner.isDue(.fetchCovers, at: now))
    }

    /// During an import, shows arrive all the time. They are indexed when it is over.
    @Test mutating func eachChangePostponesTheUpdateOfTheIndex() {
        _ = planner.plan(Self.connected, at: now)
        for _ in 0..<50 {
            planner.set(.updateIndex, due: now.wall + UpkeepPlanner.indexDelay)
            pass(.seconds(1))
            #expect(!tick(Self.connected).contains(.perform(.updateIndex)))
        }
        pass(.seconds(1))
        #expect(tick(Self.connected).contains(.perform(.updateIndex)))
        pass(.seconds(10))
        #expect(!tick(Self.connected).contains(.perform(.updateIndex)))
    }

    /// A refresh that stays due for any reason must not cause a busy loop.
    @Test mutating func aChoreThatStaysDueIsPerformedWithPauses() {
        var performed = 0
        for _ in 0..<1_000 {
            for effect in tick(Self.connected) {
                if effect == .perform(.refresh) { performed += 1 }
                if effect == .readSchedule { planner.schedule([.refresh: now.wall - .seconds(5)]) }
            }
            pass(.milliseconds(10))
        }
        #expect((9...11).contains(performed))
    }

    @Test mutating func aClockThatIsSetBackPostponesNothing() {
        _ = planner.plan(Self.connected, at: now)
        planner.set(.assessSpace, due: now.wall + .seconds(10))
        now.wall -= .seconds(86_400)
        #expect(planner.plan(Self.connected, at: now).contains(.clearFutureSchedules))
        pass(.milliseconds(10_010))
        #expect(tick(Self.connected).contains(.perform(.assessSpace)))
    }

    @Test mutating func unsentChangesMoveWithTheClockUnlessItIsOnlyCorrected() {
        _ = planner.plan(Self.connected, at: now)
        now.wall -= .seconds(30)
        let corrected = planner.plan(Self.connected, at: now)
        #expect(!corrected.contains(.moveUnsent(by: .seconds(-30))) && !corrected.contains(.clearFutureSchedules))
        now.wall += .seconds(3_600)
        let ahead = planner.plan(Self.connected, at: now)
        #expect(ahead.contains(.moveUnsent(by: .seconds(3_600))) && !ahead.contains(.clearFutureSchedules))
        now.wall -= .seconds(7_200)
        #expect(planner.plan(Self.connected, at: now).contains(.moveUnsent(by: .seconds(-7_200))))
    }

    @Test mutating func theDaemonSleepsNoLongerThanAQuarterOfAnHour() throws {
        _ = planner.plan(Self.connected, at: now)
        for _ in 0..<4 {
            pass(.seconds(900))
            let effects = tick(Self.connected)
            guard case .wake(let deadline)? = effects.last else {
                Issue.record("no wake")
                return
            }
            #expect(deadline > now.uptime && deadline <= now.uptime + .seconds(901))
            #expect(effects.contains(.perform(.tidyUp)))
        }
    }
}
