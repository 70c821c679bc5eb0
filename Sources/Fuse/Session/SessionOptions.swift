/// Mount options and the parameters to negotiate with the kernel.
package struct SessionOptions: Sendable, Equatable {
    /// The source, shown in the first column of `mount` and `df`.
    package var fsname: String
    /// The subtype: the filesystem's type is `fuse.SUBTYPE`.
    package var subtype: String
    /// Whether users other than the mounting one have access. If that user is not privileged, `user_allow_other` must
    /// be set in /etc/fuse.conf.
    package var allowOther: Bool
    /// The maximum number of unanswered background requests; at most 65,535.
    ///
    /// They include reads through the page cache. With the kernel's default of 12, twelve readers that wait for a
    /// stalled server would block all reads of the mount; so thousands are needed if reads wait for the network.
    package var maxBackground: Int
    /// The number of unanswered background requests at which the kernel stops reading ahead. `nil`: three quarters of
    /// `maxBackground`.
    package var congestionThreshold: Int?
    /// The maximum readahead in bytes, limited by the kernel's offer (128 KiB). `nil`: the kernel's offer.
    package var readahead: Int?
    /// The folder of the files that the kernel may read itself (FUSE passthrough; see `BackingFiles`). Passthrough is
    /// used if the kernel offers it and the process is privileged. `nil`: no passthrough.
    package var backingFolder: String?
    /// Further mount options as after `-o`, one per element: `nosuid`, `max_read=65536`.
    ///
    /// The caller must omit `ro` and `default_permissions` if setxattr or setattr has to reach the filesystem.
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

    /// Escapes commas, at which libfuse splits the options, and backslashes, its escape character (`fuse_opt.c`).
    static func escaped(_ value: String) -> String {
        value.flatMap { $0 == "," || $0 == "\\" ? ["\\", $0] : [$0] }.reduce(into: "") { $0.append($1) }
    }

    /// The value of `max_read=N` in `extra`. libfuse needs the same number when it negotiates with the kernel.
    var maxRead: UInt32? {
        var value: UInt32?
        for option in extra.flatMap({ $0.split(separator: ",") }) where option.hasPrefix("max_read=") {
            value = UInt32(option.dropFirst(9))
        }
        return value
    }
}
