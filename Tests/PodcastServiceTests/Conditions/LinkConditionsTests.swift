import TestSupport
import Testing

@testable import PodcastService

struct LinkConditionsTests {
    @Test func aMeteredLinkBlocksDiscretionaryWorkUnlessAllowed() {
        let conditions = LinkConditions(isMetered: true, isOnBattery: false)
        #expect(!conditions.allowsDiscretionary(allowMetered: false, allowBattery: false))
        #expect(!conditions.allowsDiscretionary(allowMetered: false, allowBattery: true))
        #expect(conditions.allowsDiscretionary(allowMetered: true, allowBattery: false))
    }

    @Test func aBatteryBlocksDiscretionaryWorkUnlessAllowed() {
        let conditions = LinkConditions(isMetered: false, isOnBattery: true)
        #expect(!conditions.allowsDiscretionary(allowMetered: false, allowBattery: false))
        #expect(!conditions.allowsDiscretionary(allowMetered: true, allowBattery: false))
        #expect(conditions.allowsDiscretionary(allowMetered: false, allowBattery: true))
    }

    @Test func aMeteredLinkOnBatteryNeedsBothPermissions() {
        let conditions = LinkConditions(isMetered: true, isOnBattery: true)
        #expect(!conditions.allowsDiscretionary(allowMetered: true, allowBattery: false))
        #expect(!conditions.allowsDiscretionary(allowMetered: false, allowBattery: true))
        #expect(conditions.allowsDiscretionary(allowMetered: true, allowBattery: true))
    }

    @Test(arguments: [
        LinkConditions.unknown, LinkConditions(isMetered: false, isOnBattery: nil),
        LinkConditions(isMetered: nil, isOnBattery: false), LinkConditions(isMetered: false, isOnBattery: false),
    ])
    func unknownAndFreeConditionsAllowDiscretionaryWork(conditions: LinkConditions) {
        #expect(conditions.allowsDiscretionary(allowMetered: false, allowBattery: false))
    }

    @Test func anUnknownConditionDoesNotOutweighAKnownOne() {
        let battery = LinkConditions(isMetered: nil, isOnBattery: true)
        #expect(!battery.allowsDiscretionary(allowMetered: false, allowBattery: false))
        let metered = LinkConditions(isMetered: true, isOnBattery: nil)
        #expect(!metered.allowsDiscretionary(allowMetered: false, allowBattery: false))
    }
}
