import Foundation
import Glibc

/// A D-Bus daemon that a test uses in place of the system or session bus. It is killed when the last reference is
/// released.
package final class PrivateBus: Sendable {
    package let folder: TemporaryDirectory
    package let process: ChildProcess

    package static var isInstalled: Bool { InstalledProgram.exists("dbus-daemon") }

    package static func address(in folder: TemporaryDirectory) -> String { "unix:path=\(folder.file("bus"))" }

    package var address: String { Self.address(in: folder) }

    /// Starts the bus, and returns when it listens.
    package init(in folder: TemporaryDirectory) async throws {
        self.folder = folder
        let configuration = """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>system</type>
              <listen>\(Self.address(in: folder))</listen>
              <auth>EXTERNAL</auth>
              <policy context="default">
                <allow user="*"/>
                <allow own="*"/>
                <allow send_destination="*"/>
                <allow receive_sender="*"/>
              </policy>
            </busconfig>
            """
        let file = try folder.write("bus.conf", text: configuration)
        let process = try ChildProcess(
            "dbus-daemon", ["--config-file=\(file)", "--nofork", "--nopidfile", "--print-address"])
        self.process = process
        // dbus-daemon prints its address once it listens.
        try await waitUntil(description: "dbus-daemon listens") {
            guard process.isRunning else { throw DeadlineError("dbus-daemon listens: \(process.error)") }
            return process.output.hasSuffix("\n")
        }
    }

    package func stop() async throws {
        process.kill(SIGTERM)
        try await process.wait()
    }
}
