import Foundation
import Platform

/// An entry of the user database. See passwd(5); the corresponding C functions are `getpwnam` and `getpwuid`.
struct Account: Equatable {
    var name: String
    var uid: UInt32
    var gid: UInt32
    var home: String
}

extension Account {
    /// Finds an entry by user name or number. A number without an entry is accepted: its group has the same number, its
    /// home is `/`.
    init(user: String) throws {
        if let found = getpwnam(user) {
            self.init(found.pointee)
        } else if let number = UInt32(user) {
            self = Self(uid: number) ?? Account(name: user, uid: number, gid: number, home: "/")
        } else {
            throw CommandError(.failed, "there is no user '\(user)'")
        }
    }

    /// Finds the entry of a user; `nil` if there is none.
    init?(uid: UInt32) {
        guard let found = getpwuid(uid) else { return nil }
        self.init(found.pointee)
    }

    private init(_ entry: passwd) {
        self.init(
            name: String(cString: entry.pw_name), uid: entry.pw_uid, gid: entry.pw_gid,
            home: String(cString: entry.pw_dir))
    }

    /// Returns the number of a group, which is given by name or number. A number without an entry is accepted.
    static func group(_ group: String) throws -> UInt32 {
        if let found = getgrnam(group) { return found.pointee.gr_gid }
        guard let number = UInt32(group) else { throw CommandError(.failed, "there is no group '\(group)'") }
        return number
    }

    /// Switches the process to this user permanently. Only root may switch to another user.
    func become() throws {
        if getuid() == uid, geteuid() == uid { return }
        guard geteuid() == 0 else {
            throw CommandError(.refused, "only root may mount for another user: leave out setuid=\(name)")
        }
        guard initgroups(name, gid) == 0, setgid(gid) == 0, setuid(uid) == 0 else {
            throw CommandError(.failed, "cannot switch to the user '\(name)': \(errnoText())")
        }
    }

    /// Adapts the environment to the user of this process. Sets HOME from the user database unless this user owns the
    /// folder in it, and USER and LOGNAME unless they name this user. Unsets XDG variables that contain another user's
    /// folder, and sets XDG_RUNTIME_DIR to `/run/user/UID` if it is then unset and this user owns that folder.
    ///
    /// At boot, HOME is unset or root's. With `setuid`, mount.fuse3(8) sets HOME only.
    static func setUserEnvironment() {
        let environment = ProcessInfo.processInfo.environment
        guard let account = Account(uid: getuid()) else { return }
        let isOwn = environment["HOME"].map { owner(of: $0) == account.uid } ?? false
        if !isOwn { setenv("HOME", account.home, 1) }
        for name in ["USER", "LOGNAME"] where environment[name].flatMap({ uid(of: $0) }) != account.uid {
            setenv(name, account.name, 1)
        }
        for name in ["XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"] {
            guard let value = environment[name] else { continue }
            // A folder that does not exist yet has no owner. Its variable stays if HOME is the user's own.
            if owner(of: value) != account.uid, !isOwn || owner(of: value) != nil { unsetenv(name) }
        }
        let runtime = "/run/user/\(account.uid)"
        if getenv("XDG_RUNTIME_DIR") == nil, owner(of: runtime) == account.uid { setenv("XDG_RUNTIME_DIR", runtime, 1) }
    }

    /// Returns the uid of a user; `nil` if the user database has no entry of that name.
    private static func uid(of name: String) -> UInt32? { getpwnam(name)?.pointee.pw_uid }

    /// Returns the uid of a file's owner; `nil` if the file cannot be accessed.
    private static func owner(of path: String) -> UInt32? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_uid : nil
    }
}
