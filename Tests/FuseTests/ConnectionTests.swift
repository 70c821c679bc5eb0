import Testing

@testable import Fuse

/// The parts around a connection: the parsing of /proc files, the limit on background requests, the arguments for
/// libfuse, and the table of interrupt handlers.
struct ConnectionTests {
    @Test func anAdministratorHasTheCapabilityInTheInitialNamespace() {
        let root = "Name:\tx\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n"
        let user = "Name:\tx\nCapEff:\t0000000000000000\n"
        let whole = "         0          0 4294967295\n"
        let part = "         0     100000      65536\n"
        #expect(Privilege.isAdministrator(status: root, userMap: whole))
        #expect(!Privilege.isAdministrator(status: root, userMap: part))
        #expect(!Privilege.isAdministrator(status: user, userMap: whole))
        #expect(!Privilege.isAdministrator(status: "", userMap: ""))
    }

    @Test(
        arguments: [
            (nil, 4_096, 4_096, true), (1_999, 4_096, 1_999, false), (2_000, 4_096, 2_000, true),
            (12, 4_096, 12, false), (nil, 100_000, 65_535, true), (500, 100, 100, true), (50, 100, 50, false),
        ]
            as [(Int?, Int, Int, Bool)])
    func tooFewBackgroundRequestsTurnAsynchronousReadsOff(limit: Int?, asked: Int, got: Int, async: Bool) {
        let allowance = BackgroundAllowance(limit: limit)
        #expect(allowance.granted(of: asked) == got)
        #expect(allowance.suffices(for: asked) == async)
    }

    @Test func optionsAreEscaped() {
        let options = SessionOptions(
            fsname: "a,b\\c", subtype: "s", allowOther: true, extra: ["nosuid,max_read=65536"])
        #expect(
            options.arguments == [
                "-o", "fsname=a\\,b\\\\c", "-o", "subtype=s", "-o", "allow_other", "-o", "nosuid,max_read=65536",
            ])
        #expect(options.maxRead == 65_536)
    }

    @Test func anInterruptHandlerRunsOnce() {
        let table = InterruptTable()
        let calls = Counter()
        let handler: @Sendable () -> Void = { calls.add() }
        let first = table.register(1, handler, announce: {})
        #expect(!first)
        table.interrupt(1)
        table.interrupt(1)
        #expect(calls.count == 1)
        let second = table.register(2, handler, announce: {})
        #expect(!second)
        table.withdraw(2)
        table.interrupt(2)
        #expect(calls.count == 1)
        // If the interrupt arrives during the registration, the caller has to run the handler.
        let third = table.register(3, handler, announce: { table.interrupt(3) })
        #expect(third)
        #expect(calls.count == 1)
        #expect(table.count == 0)
    }
}
