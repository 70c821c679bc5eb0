import Fuse
import Testing

/// Accepted and rejected options of `-o`.
struct MountOptionTests {
    @Test func theKernelsOptionsArePassedOn() throws {
        let options = try MountOptions(parsing: ["noexec,max_read=65536", "noatime", "context=a\\,b,sync"])
        #expect(options.kernel == ["noexec", "max_read=65536", "noatime", "context=a\\,b", "sync"])
        #expect(!options.allowOther)
    }

    @Test func podfsParsesItsOwnOptions() throws {
        let options = try MountOptions(
            parsing: ["allow_other,fsname=my\\,shows,subtype=pods,uid=1000,gid=audio,setuid=ann,no_passthrough"])
        #expect(options.allowOther && MountOptions().passthrough && !options.passthrough)
        #expect(options.fsname == "my,shows")
        #expect(options.subtype == "pods")
        #expect(options.uid == "1000")
        #expect(options.gid == "audio")
        #expect(options.user == "ann")
        #expect(options.kernel.isEmpty)
    }

    @Test func allOptionsExceptTheUserSurviveTheirTextForm() throws {
        var options = try MountOptions(
            parsing: [
                "nosuid,allow_other,no_passthrough,fsname=a\\,b\\\\c=d,uid=7,gid=8,subtype=s,max_read=4096,setuid=ann"
            ])
        let handedOn = try MountOptions(parsing: [options.text])
        options.user = nil
        #expect(handedOn == options)
        #expect(try MountOptions(parsing: [MountOptions().text]) == MountOptions())
    }

    @Test(
        arguments: [
            "defaults", "noauto,user,_netdev,nofail", "rw,exec,suid,dev,async", "x-systemd.automount,X-mount.mkdir=700",
            "comment=anything,users,owner,group,nouser,auto", "relatime,strictatime", "", ",,", "user=ann,uhelper=x",
        ])
    func optionsForOtherProgramsAndDefaultsAreIgnored(list: String) throws {
        #expect(try MountOptions(parsing: [list]) == MountOptions())
    }

    @Test func aLaterOptionOverridesAnEarlierOne() throws {
        #expect(try MountOptions(parsing: ["noexec,sync,exec"]).kernel == ["sync"])
        #expect(try MountOptions(parsing: ["noexec", "exec,noexec"]).kernel == ["noexec"])
    }

    @Test(
        arguments: [
            ("rw,ro", "ro", "leave it out"), ("default_permissions", "default_permissions", "leave it out"),
            ("nosuid,frobnicate", "frobnicate", "is unknown"), ("frobnicate=1", "frobnicate=1", "is unknown"),
            ("nosuid=1", "nosuid=1", "is unknown"), ("max_read=12", "max_read=12", "4096 or more"),
            ("max_read", "max_read", "needs a value"), ("uid=", "uid=", "is unknown"), ("fsname", "fsname", "needs"),
            ("remount", "remount", "unmount the folder"), ("subtype=a/b", "subtype=a/b", "is unknown"),
        ])
    func aRefusalNamesTheOptionAndTheRemedy(list: String, option: String, advice: String) throws {
        let refusal = #expect(throws: MountOptions.Refusal.self) { try MountOptions(parsing: [list]) }
        #expect(refusal?.option == option)
        #expect(refusal?.description.contains(advice) ?? false, "\(refusal?.description ?? "")")
    }

    @Test func unknownOptionsAreIgnoredOnRequest() throws {
        let options = try MountOptions(parsing: ["frobnicate,nosuid"], ignoresUnknown: true)
        #expect(options.kernel == ["nosuid"])
        #expect(throws: MountOptions.Refusal.self) { try MountOptions(parsing: ["ro"], ignoresUnknown: true) }
    }
}
