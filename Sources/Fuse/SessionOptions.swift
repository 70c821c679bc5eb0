/// How a filesystem is mounted and what is agreed with the kernel.
package struct SessionOptions: Sendable, Equatable {
    /// The first column of `mount` and `df`.
    package var fsname: String
    /// The filesystem's type is `fuse.SUBTYPE`.
    package var subtype: String
    /// Users other than the mounting one may come in. Without privileges this needs `user_allow_other` in
    /// /etc/fuse.conf.
    package var allowOther: Bool
    /// How many requests that the kernel calls background requests may be unanswered; at most 65,535.
    ///
    /// Reads through the page cache are among them. With libfuse's default of 12, twelve readers that wait for a
    /// stalled server would stop all reading of the whole mount; so it has to be thousands where reads wait for the
    /// network.
    package var maxBackground: Int
    /// From how many of them the kernel leaves out reading ahead. `nil`: three quarters of `maxBackground`.
    package var congestionThreshold: Int?
    /// How many bytes the kernel may read ahead, no more than it offers (128 KiB). `nil`: what it offers.
    package var readahead: Int?
    /// The folder of files that the kernel may read by itself (`BackingFiles`), where it offers that and the process is
    /// privileged. `nil`: none.
    package var backingFolder: String?
    /// Further mount options as after `-o`, one each: `nosuid`, `max_read=65536`.
    ///
    /// `ro` and `default_permissions` are for the caller to leave out where setxattr or setattr is to reach the
    /// filesystem.
    package var extra: [String]

    package init(
        fsname: String, subtype: String, allowOther: Bool = false, maxBackground: Int = 4_096,
        congestionThreshold: Int? = nil, readahead: Int? = nil, backingFolder: String? = nil,
        extra: [String] = []
    ) {
        self.fsname = fsname
        self.subtype = subtype
        self.allowOther = allowOther
        self.maxBackground = maxBackground
        self.congestionThreshold = congestionThreshold
        self.readahead = readahead
        self.backingFolder = backingFolder
        self.extra = extra
    }

    /// The arguments of `fuse_session_new` after the program's name.
    var arguments: [String] {
        var options = ["fsname=" + Self.escaped(fsname), "subtype=" + Self.escaped(subtype)]
        if allowOther { options.append("allow_other") }
        return (options + extra).flatMap { ["-o", $0] }
    }

    /// libfuse splits at commas and takes a backslash for an escape (`fuse_opt.c`).
    static func escaped(_ value: String) -> String {
        value.flatMap { $0 == "," || $0 == "\\" ? ["\\", $0] : [$0] }.reduce(into: "") { $0.append($1) }
    }

    /// `max_read=N` among the further options: libfuse wants the same number when the connection is made.
    var maxRead: UInt32? {
        var value: UInt32?
        for option in extra.flatMap({ $0.split(separator: ",") }) where option.hasPrefix("max_read=") {
            value = UInt32(option.dropFirst(9))
        }
        return value
    }
}
