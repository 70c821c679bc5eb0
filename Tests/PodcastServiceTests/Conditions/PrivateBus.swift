import Foundation
import Glibc
import TestSupport

/// A private bus in place of the system's. Ends at deinitialization.
final class PrivateBus: Sendable {
    let folder: TemporaryDirectory
    let process: ChildProcess

    static var isInstalled: Bool {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin"
        return path.split(separator: ":").contains { access("\($0)/dbus-daemon", X_OK) == 0 }
    }

    static func address(in folder: TemporaryDirectory) -> String { "unix:path=\(folder.file("bus"))" }

    var address: String { Self.address(in: folder) }

    /// Starts the bus, and returns when it listens.
    init(in folder: TemporaryDirectory) async throws {
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
        // It prints its address once it listens.
        try await waitUntil(description: "dbus-daemon listens") {
            guard process.isRunning else { throw DeadlineError("dbus-daemon listens: \(process.error)") }
            return process.output.hasSuffix("\n")
        }
    }

    func stop() async throws {
        process.kill(SIGTERM)
        try await process.wait()
    }
}
