import Foundation
import Glibc
import TestSupport
import Testing

@testable import PodcastService

/// The monitor on a private bus, with a scripted NetworkManager.
@Suite(.enabled(if: PrivateBus.isInstalled, "dbus-daemon is not installed (package dbus-daemon)"))
struct NetworkManagerLinkTests {
    private let folder: TemporaryDirectory
    private let bus: PrivateBus

    init() async throws {
        folder = try TemporaryDirectory()
        bus = try await PrivateBus(in: folder)
    }

    private func makeSource() throws -> ConditionSource {
        var options = ConditionMonitor.Options()
        options.powerSupplies = try folder.makeDirectory("power_supply")
        options.busAddress = bus.address
        return .system(options)
    }

    @Test(arguments: [(0, nil), (1, true), (2, false), (3, true), (4, false), (5, nil)] as [(UInt32, Bool?)])
    func theFirstReadingIsWhatNetworkManagerSays(value: UInt32, isMetered: Bool?) async throws {
        let manager = try FakeNetworkManager(on: bus.address, metered: value)
        defer { manager.stop() }
        let source = try makeSource()
        let first = try await change(in: source.changes()) { _ in true }
        #expect(first == LinkConditions(isMetered: isMetered, isOnBattery: false))
        #expect(manager.questions == 1)
    }

    @Test func aChangeArrivesAsAnEvent() async throws {
        let manager = try FakeNetworkManager(on: bus.address, metered: 2)
        defer { manager.stop() }
        let source = try makeSource()
        let stream = source.changes()
        #expect(try await change(in: stream) { _ in true }.isMetered == false)
        manager.set(1)
        _ = try await change(in: stream) { $0.isMetered == true }
        manager.set(4)
        _ = try await change(in: stream) { $0.isMetered == false }
        manager.set(0)
        _ = try await change(in: stream) { $0.isMetered == nil }
        // The values came with the signals: the property was not requested again.
        #expect(manager.questions == 1)
    }

    @Test func anInvalidatedValueIsAskedForAgain() async throws {
        let manager = try FakeNetworkManager(on: bus.address, metered: 2)
        defer { manager.stop() }
        let source = try makeSource()
        let stream = source.changes()
        _ = try await change(in: stream) { $0.isMetered == false }
        manager.set(1, announce: .invalidated)
        _ = try await change(in: stream) { $0.isMetered == true }
        #expect(manager.questions == 2)
    }

    @Test func changesOfOtherPropertiesAreIgnored() async throws {
        let manager = try FakeNetworkManager(on: bus.address, metered: 2)
        defer { manager.stop() }
        let source = try makeSource()
        let stream = source.changes()
        _ = try await change(in: stream) { $0.isMetered == false }
        manager.set(1, announce: .other)
        manager.set(3)
        _ = try await change(in: stream) { $0.isMetered == true }
        #expect(manager.questions == 1)
    }

    @Test func withoutNetworkManagerTheLinkIsUnknown() async throws {
        let source = try makeSource()
        let first = try await change(in: source.changes()) { _ in true }
        #expect(first == LinkConditions(isMetered: nil, isOnBattery: false))
    }

    @Test func networkManagerMayComeAndGo() async throws {
        let source = try makeSource()
        let stream = source.changes()
        _ = try await change(in: stream) { $0.isMetered == nil }
        let first = try FakeNetworkManager(on: bus.address, metered: 1)
        _ = try await change(in: stream) { $0.isMetered == true }
        first.stop()
        _ = try await change(in: stream) { $0.isMetered == nil }
        let second = try FakeNetworkManager(on: bus.address, metered: 2)
        defer { second.stop() }
        _ = try await change(in: stream) { $0.isMetered == false }
    }

    @Test func aBusThatIsRestartedIsFoundAgain() async throws {
        let manager = try FakeNetworkManager(on: bus.address, metered: 1)
        let source = try makeSource()
        let stream = source.changes()
        _ = try await change(in: stream) { $0.isMetered == true }
        try await bus.stop()
        manager.stop()
        _ = try await change(in: stream) { $0.isMetered == nil }
        let successor = try await PrivateBus(in: folder)
        let second = try FakeNetworkManager(on: successor.address, metered: 1)
        defer { second.stop() }
        _ = try await change(in: stream) { $0.isMetered == true }
    }

    @Test func aBusThatComesLaterIsFound() async throws {
        try await bus.stop()
        let source = try makeSource()
        let stream = source.changes()
        #expect(try await change(in: stream) { _ in true }.isMetered == nil)
        let late = try await PrivateBus(in: folder)
        let manager = try FakeNetworkManager(on: late.address, metered: 1)
        defer { manager.stop() }
        _ = try await change(in: stream) { $0.isMetered == true }
    }

    @Test func theConnectionEndsWithTheSource() async throws {
        let manager = try FakeNetworkManager(on: bus.address, metered: 2)
        defer { manager.stop() }
        var source: ConditionSource? = try makeSource()
        let stream = try #require(source).changes()
        _ = try await change(in: stream) { $0.isMetered == false }
        source = nil
        for await _ in stream {}
        // The bus still serves other connections: only the monitor's has ended.
        let next = try makeSource()
        #expect(try await change(in: next.changes()) { _ in true }.isMetered == false)
        #expect(manager.questions == 2)
    }
}
