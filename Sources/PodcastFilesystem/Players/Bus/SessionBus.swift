internal import Glibc
internal import Platform

/// The address of the user's session bus.
package enum SessionBus {
    /// Returns the address in `DBUS_SESSION_BUS_ADDRESS`, or if that is not set, the address of the socket `bus` in
    /// `XDG_RUNTIME_DIR`. Returns `nil` if there is neither, or if a connection to an address in the variable would
    /// start a process. Never starts a bus.
    package static func address(_ environment: [String: String]) -> String? {
        if let given = environment["DBUS_SESSION_BUS_ADDRESS"], !given.isEmpty {
            // These transports start a process. The variable may list several addresses.
            let startsProcess = given.split(separator: ";").contains {
                $0.hasPrefix("autolaunch:") || $0.hasPrefix("unixexec:")
            }
            return startsProcess ? nil : given
        }
        guard let folder = environment["XDG_RUNTIME_DIR"], folder.utf8.first == UInt8(ascii: "/") else { return nil }
        let socket = folder + "/bus"
        var status = stat()
        guard stat(socket, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
        return "unix:path=" + socket.percentEncoded
    }
}
