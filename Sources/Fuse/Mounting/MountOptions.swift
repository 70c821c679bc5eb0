/// The options of a mount: those after `-o`, grouped by their consumer. See mount(8) and mount.fuse3(8).
package struct MountOptions: Sendable, Equatable {
    /// The options for libfuse and the kernel that have no property below. `ro` and `default_permissions` are not among
    /// them, because setxattr has to reach the filesystem.
    package var kernel: [String] = []
    /// The source, shown in the first column of `mount` and `df`; from `fsname=`.
    package var fsname: String?
    /// The subtype, from `subtype=`: the filesystem's type is `fuse.SUBTYPE`.
    package var subtype: String?
    /// Whether users other than the mounting one have access; from `allow_other`.
    package var allowOther = false
    /// Whether passthrough is allowed; false after `no_passthrough`.
    package var passthrough = true
    /// The programs that are treated as probes, from `probe=`. A probe is a program that reads only headers and tags.
    package var probe = Probe.list
    /// The user who owns the files, from `uid=`: a number or a name.
    package var uid: String?
    /// The group of the files, from `gid=`: a number or a name.
    package var gid: String?
    /// The user as whom the filesystem's process runs, from `setuid=`: a name or a number.
    package var user: String?

    package init() {}

    /// The selection of programs that are treated as probes.
    package enum Probe: String, Sendable {
        case list, all, none
    }

    /// The rejection of an option.
    package struct Refusal: Error, Sendable, Equatable, CustomStringConvertible {
        package var option: String
        /// The reason, and what to do instead. `description` puts the option before it, so it is the rest of a
        /// sentence.
        package var advice: String

        package var description: String { "the mount option \(option) \(advice)" }
    }

    /// - Parameters:
    ///   - lists: The argument of each `-o`: options separated by commas. A comma in a value is written `\,`.
    ///   - ignoresUnknown: Whether to ignore unknown options, as with `-s` of mount(8).
    package init(parsing lists: [String], ignoresUnknown: Bool = false) throws(Refusal) {
        for option in lists.flatMap(Self.split) where !option.isEmpty {
            try apply(option, ignoresUnknown: ignoresUnknown)
        }
    }

    /// All options except `setuid=` as one list, for a process that already runs as the user that `setuid=` names.
    package var text: String {
        var options = kernel
        if allowOther { options.append("allow_other") }
        if !passthrough { options.append("no_passthrough") }
        if probe != .list { options.append("probe=\(probe.rawValue)") }
        for (name, value) in [("fsname", fsname), ("subtype", subtype), ("uid", uid), ("gid", gid)] {
            if let value { options.append("\(name)=\(Self.escaped(value))") }
        }
        return options.joined(separator: ",")
    }

    /// The arguments of `fuse_session_new` after the program's name.
    var arguments: [String] {
        let names = [("fsname", fsname), ("subtype", subtype)].compactMap { name, value in
            value.map { "\(name)=\(Self.escaped($0))" }
        }
        return (names + (allowOther ? ["allow_other"] : []) + kernel).flatMap { ["-o", $0] }
    }

    /// The value of `max_read=N`. libfuse needs the same number when it negotiates with the kernel.
    var maxRead: UInt32? { kernel.last { $0.hasPrefix("max_read=") }.flatMap { UInt32($0.dropFirst(9)) } }

    /// Escapes commas, at which libfuse splits the options, and backslashes, its escape character (`fuse_opt.c`).
    private static func escaped(_ value: String) -> String {
        value.reduce(into: "") { $0 += $1 == "," || $1 == "\\" ? "\\\($1)" : "\($1)" }
    }

    private mutating func apply(_ option: String, ignoresUnknown: Bool) throws(Refusal) {
        let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let (name, value) = (String(parts[0]), parts.count > 1 ? Self.unescaped(parts[1]) : nil)
        if let advice = Self.advice[name] { throw Refusal(option: name, advice: advice) }
        if Self.isForMountAlone(name) { return }
        if let undone = Self.defaults[name] { return kernel.removeAll { $0 == undone } }
        switch (name, value) {
        case ("allow_other", nil): allowOther = true
        case ("no_passthrough", nil): passthrough = false
        case ("probe", let value?):
            guard let chosen = Probe(rawValue: value) else {
                throw Refusal(option: option, advice: "needs list, all or none")
            }
            probe = chosen
        case ("fsname", let value?): fsname = value
        case ("subtype", let value?) where !value.isEmpty && !value.contains("/"): subtype = value
        case ("uid", let value?) where !value.isEmpty: uid = value
        case ("gid", let value?) where !value.isEmpty: gid = value
        case ("setuid", let value?) where !value.isEmpty: user = value
        case ("max_read", let value?):
            // The kernel's minimum is one page.
            guard let bytes = UInt32(value), bytes >= 4_096 else {
                throw Refusal(option: option, advice: "needs a number of bytes, 4096 or more")
            }
            kernel.append(option)
        case (_, nil) where Self.flags.contains(name), (_, _?) where Self.labels.contains(name): kernel.append(option)
        case (_, nil) where Self.valued.contains(name) || Self.labels.contains(name):
            throw Refusal(option: name, advice: "needs a value: \(name)=…")
        default:
            if ignoresUnknown { return }
            throw Refusal(option: option, advice: "is unknown; podfs(1) lists the supported options")
        }
    }

    /// Options for libfuse that have no value. libfuse implements `allow_root` itself, and passes the others to
    /// mount(2), directly or through fusermount3.
    private static let flags: Set<String> = [
        "nosuid", "nodev", "noexec", "noatime", "sync", "dirsync", "allow_root",
    ]

    /// Options for the kernel that set an SELinux label, and need a value.
    private static let labels: Set<String> = ["context", "fscontext", "defcontext", "rootcontext"]

    /// Other options that need a value.
    private static let valued: Set<String> = ["fsname", "subtype", "uid", "gid", "setuid", "max_read", "probe"]

    /// Options that restore a default, and the option that each of them cancels. `dev` and `suid` only cancel: no file
    /// is a device or runs as another user, and libfuse mounts with `nodev,nosuid` anyway. `rw` has nothing to cancel,
    /// but mount(8) passes it.
    private static let defaults = [
        "rw": "ro", "suid": "nosuid", "dev": "nodev", "exec": "noexec", "async": "sync", "atime": "noatime",
    ]

    /// Whether an option is meant for mount(8), systemd and similar programs, which also pass it to podfs. The access
    /// time options (`relatime` and its variants) are for disks. They are ignored, since podfs itself sets the times.
    private static func isForMountAlone(_ name: String) -> Bool {
        let names: Set<String> = [
            "defaults", "auto", "noauto", "user", "nouser", "users", "owner", "group", "nofail", "_netdev", "comment",
            "uhelper", "helper", "relatime", "norelatime", "strictatime", "nostrictatime", "diratime", "lazytime",
            "nolazytime", "silent", "loud",
        ]
        return names.contains(name) || name.hasPrefix("x-") || name.hasPrefix("X-")
    }

    /// The reason for the rejection of a known option, and what to do instead.
    private static let advice = [
        "ro":
            "is not supported: the folder is read-only anyway, and the kernel would also refuse the attributes that"
            + " control downloads; leave it out",
        "default_permissions":
            "is not supported: the kernel would refuse the attributes that control downloads, and podfs checks"
            + " permissions itself; leave it out",
        "remount": "is not supported: unmount the folder, and mount it with the new options",
        "auto_unmount": "is not needed: podfs mount detaches a dead mount first; leave it out",
    ]

    /// Splits at commas that no backslash escapes, as fuse_opt.c does. The escapes stay in the result.
    private static func split(_ list: String) -> [String] {
        var options = [""]
        var isEscaped = false
        for character in list {
            if character == ",", !isEscaped {
                options.append("")
            } else {
                options[options.count - 1].append(character)
            }
            isEscaped = character == "\\" && !isEscaped
        }
        return options
    }

    private static func unescaped(_ text: Substring) -> String {
        var result = ""
        var isEscaped = false
        for character in text {
            if character == "\\", !isEscaped {
                isEscaped = true
            } else {
                result.append(character)
                isEscaped = false
            }
        }
        return result
    }
}
