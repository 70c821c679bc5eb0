import Glibc
import PodcastFeed
import PodcastProtocol

/// The unit files of podfs for a user's systemd (systemd.unit(5)): a socket that starts the daemon for its first
/// client, the daemon, and a template for folders that are mounted at login.
struct Units: Sendable {
    /// The absolute path of the program.
    let executable: String
    let paths: InstallationPaths
    let environment: [String: String]

    static let socketName = "podfs.socket"
    static let serviceName = "podfs.service"
    static let mountName = "podfs-mount@.service"

    /// The units of a package, which serve every user whose folders are at the default paths.
    static var packaged: Units? {
        InstallationPaths(environment: ["HOME": "/", "XDG_RUNTIME_DIR": "/run/user/\(getuid())"]).map {
            Units(executable: "/usr/bin/podfs", paths: $0, environment: [:])
        }
    }

    /// The names and contents of the unit files.
    var all: [(name: String, text: String)] {
        [(Self.socketName, socket), (Self.serviceName, service), (Self.mountName, mount)]
    }

    /// The reason why these units cannot be written; `nil` if they can. A line feed in a path would start another line
    /// of the unit file, with text chosen by the creator of the path. Not every setting supports an escape for it.
    var validationError: String? {
        let values =
            [("the program's path", executable), ("the socket's path", paths.socket)]
            + environment.filter { $0.key == "HOME" || $0.key.hasPrefix("XDG_") }.sorted { $0.key < $1.key }
            .map { ($0.key, $0.value) }
        return values.first { $1.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F } }.map { name, _ in
            "\(name) contains a control character, which systemd units do not support"
        }
    }

    /// Returns the name of the template's instance that mounts a folder.
    static func mountName(of folder: String) -> String { "podfs-mount@\(escaped(folder)).service" }

    /// Escapes a path like `systemd-escape --path`.
    static func escaped(_ path: String) -> String {
        let parts = path.split(separator: "/", omittingEmptySubsequences: true)
        if parts.isEmpty { return "-" }
        var result = ""
        for (index, byte) in parts.joined(separator: "/").utf8.enumerated() {
            switch byte {
            case UInt8(ascii: "/"): result += "-"
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: ":"), UInt8(ascii: "_"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: ".") where index > 0: result += "."
            default:
                let digits = String(byte, radix: 16)
                result += "\\x" + (digits.count < 2 ? "0" : "") + digits
            }
        }
        return result
    }

    private var socket: String {
        """
        # Written by podfs service install.
        [Unit]
        Description=Socket of podfs, the podcast filesystem

        [Socket]
        ListenStream=\(socketPath)
        SocketMode=0600
        DirectoryMode=0700

        [Install]
        WantedBy=sockets.target

        """
    }

    /// The daemon's unit. The daemon exits when idle, and the socket starts it again.
    private var service: String {
        """
        # Written by podfs service install.
        [Unit]
        Description=Downloads and refreshes of podfs
        Requires=podfs.socket
        After=podfs.socket

        [Service]
        Type=exec
        ExecStart=\(Self.quoted(executable)) daemon --foreground
        \(environmentLines)
        """
    }

    /// The mount's template unit. It has `KillMode=process` because stopping an instance must not kill a daemon that it
    /// has started. The prefix `:` turns off the expansion of variables, which would also apply to a `$` in the name of
    /// the folder.
    private var mount: String {
        """
        # Written by podfs service install.
        [Unit]
        Description=Podcasts in %f
        Wants=podfs.socket
        After=podfs.socket

        [Service]
        Type=exec
        ExecStartPre=:/bin/mkdir -p %f
        ExecStart=:\(Self.quoted(executable)) mount --foreground %f
        KillMode=process
        Restart=on-failure
        \(environmentLines)
        [Install]
        WantedBy=default.target

        """
    }

    /// Whether XDG_RUNTIME_DIR is the folder that systemd sets. Unit files then name the folder `%t`, and need not set
    /// the variable.
    private var hasDefaultRuntimeFolder: Bool { paths.runtime == "/run/user/\(getuid())/podfs" }

    private var socketPath: String {
        hasDefaultRuntimeFolder ? "%t/podfs/daemon.sock" : Self.escapingSpecifiers(paths.socket)
    }

    /// The lines `Environment=` and `UnsetEnvironment=` for the variables in which this environment differs from the
    /// default one (systemd.exec(5)).
    private var environmentLines: String {
        var lines: [String] = []
        for name in ["XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
            if let value = environment[name], value.hasPrefix("/") {
                lines.append("Environment=\(Self.quoted("\(name)=\(value)"))")
            }
        }
        if let home = environment["HOME"], home != Self.accountHome {
            lines.append("Environment=\(Self.quoted("HOME=\(home)"))")
        }
        if !hasDefaultRuntimeFolder {
            if let value = environment["XDG_RUNTIME_DIR"], value.hasPrefix("/") {
                lines.append("Environment=\(Self.quoted("XDG_RUNTIME_DIR=\(value)"))")
            } else {
                lines.append("UnsetEnvironment=XDG_RUNTIME_DIR")
            }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// The home folder of the user database, which is HOME in units; `nil` if the user has no entry.
    private static var accountHome: String? { getpwuid(getuid()).map { String(cString: $0.pointee.pw_dir) } }

    /// Doubles `%`, which starts a specifier (systemd.unit(5)).
    private static func escapingSpecifiers(_ text: String) -> String { text.replacingScalars("%", with: "%%") }

    /// Quotes an assignment of `Environment=`, or the program of a command line (systemd.syntax(7), QUOTING). `$` is
    /// special in neither: variables are expanded only in a program's arguments (systemd.service(5), COMMAND LINES).
    private static func quoted(_ text: String) -> String {
        let special = text.unicodeScalars.contains { scalar in
            !(scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil))
                && !"/._-=:@+".unicodeScalars.contains(scalar)
        }
        let literal = escapingSpecifiers(text)
        guard special else { return literal }
        let escaped = literal.replacingScalars("\\", with: "\\\\").replacingScalars("\"", with: "\\\"")
        return "\"\(escaped)\""
    }
}
