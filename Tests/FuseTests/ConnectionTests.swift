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

    @Test(arguments: [(nil, true), (1_999, false), (2_000, true), (12, false)] as [(Int?, Bool)])
    func tooFewBackgroundRequestsTurnAsynchronousReadsOff(limit: Int?, isPermitted: Bool) {
        #expect(BackgroundLimit.permitsAsyncReads(limit) == isPermitted)
    }

    @Test func optionsAreEscaped() {
        var options = MountOptions.test("nosuid", "max_read=65536")
        (options.fsname, options.subtype, options.allowOther) = ("a,b\\c", "s", true)
        #expect(
            options.arguments == [
                "-o", "fsname=a\\,b\\\\c", "-o", "subtype=s", "-o", "allow_other", "-o", "nosuid", "-o",
                "max_read=65536",
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
