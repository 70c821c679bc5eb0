import CLinux
import Foundation
import Glibc
import TestSupport
import Testing

@testable import PodcastService

struct PowerEventsTests {
    private static func event(_ parts: String...) -> [UInt8] { parts.flatMap { Array($0.utf8) + [0] } }

    private static let unplugged = event(
        "change@/devices/LNXSYSTM:00/ACPI0003:00/power_supply/AC", "ACTION=change",
        "DEVPATH=/devices/LNXSYSTM:00/ACPI0003:00/power_supply/AC", "SUBSYSTEM=power_supply", "POWER_SUPPLY_NAME=AC",
        "POWER_SUPPLY_TYPE=Mains", "POWER_SUPPLY_ONLINE=0", "SEQNUM=4711")

    @Test func aPowerSupplyIsToldFromOtherDevices() {
        #expect(PowerEvents.isOfPowerSupply(Self.unplugged))
        #expect(!PowerEvents.isOfPowerSupply(Self.event("add@/devices/x", "ACTION=add", "SUBSYSTEM=usb", "SEQNUM=1")))
        #expect(!PowerEvents.isOfPowerSupply(Self.event("add@/power_supply/x", "SUBSYSTEM=power_supply_not")))
        #expect(!PowerEvents.isOfPowerSupply(Self.event("libudev", "XSUBSYSTEM=power_supply")))
        #expect(!PowerEvents.isOfPowerSupply([]))
    }

    @Test func allEventsAreTakenAtOnce() throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        let events = PowerEvents(descriptor: ends[0])
        #expect(events.drain() == .nothing)
        for event in [Self.event("add@/x", "SUBSYSTEM=usb"), Self.unplugged, Self.event("add@/y", "SUBSYSTEM=net")] {
            #expect(send(ends[1], event, event.count, 0) == event.count)
        }
        #expect(events.drain() == .changed)
        #expect(events.drain() == .nothing)
        close(ends[1])
        #expect(events.drain() == .ended)
    }

    /// A device unrelated to power; root may trigger its uevents.
    private static let device = "/sys/class/mem/null/uevent"
    private static var mayAnnounce: Bool { access(device, W_OK) == 0 }

    @Test(.enabled(if: mayAnnounce, "only root can have the kernel announce a device"))
    func theKernelsAnnouncementsArriveAndThoseOfOtherDevicesAreIgnored() throws {
        guard let events = PowerEvents() else {
            Issue.record("no socket of the kernel's events")
            return
        }
        let descriptor = clinux_open(Self.device, O_WRONLY | O_CLOEXEC, 0)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        #expect(write(descriptor, "change", 6) == 6)
        var entry = pollfd(fd: events.descriptor, events: Int16(POLLIN), revents: 0)
        #expect(poll(&entry, 1, 60_000) == 1)
        #expect(events.drain() == .nothing)
    }
}
