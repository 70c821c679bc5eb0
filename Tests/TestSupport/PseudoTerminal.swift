import Foundation
import Glibc
import Synchronization

/// A program on a pseudoterminal, which is its controlling terminal and its standard streams. The test can type.
///
/// The object stores the program's output as bytes. A program that still runs when the last reference is released is
/// killed.
package final class PseudoTerminal: Sendable {
    package let processIdentifier: Int32
    private let master: Int32
    private let content = Mutex<[UInt8]>([])
    private let status = Mutex<Int32?>(nil)

    /// - Parameters:
    ///   - executable: A path.
    ///   - environment: The whole environment.
    ///   - standardOutput: A file that replaces the terminal for standard output; errors still go to the terminal.
    package init(
        _ executable: String, _ arguments: [String], environment: [String: String], columns: Int, rows: Int,
        standardOutput: String? = nil
    ) throws {
        // Swift's Glibc module lacks posix_openpt, unlockpt and ptsname, so their system calls are made directly; see
        // pts(4) and ioctl_tty(2).
        let unlock: UInt = 0x4004_5431  // TIOCSPTLCK
        let getNumber: UInt = 0x8004_5430  // TIOCGPTN
        var locked: Int32 = 0
        var number: UInt32 = 0
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard master >= 0, ioctl(master, unlock, &locked) == 0, ioctl(master, getNumber, &number) == 0 else {
            throw SystemCallError("open /dev/ptmx")
        }
        let device = "/dev/pts/\(number)"
        Self.resize(master, columns, rows)
        do {
            processIdentifier = try ChildProcess.spawn(
                executable, arguments, environment: environment, startsSession: true
            ) { actions in
                // The first terminal that the leader of a session opens becomes its controlling terminal.
                posix_spawn_file_actions_addopen(&actions, 0, device, O_RDWR, 0)
                if let standardOutput {
                    posix_spawn_file_actions_addopen(&actions, 1, standardOutput, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
                } else {
                    posix_spawn_file_actions_adddup2(&actions, 0, 1)
                }
                posix_spawn_file_actions_adddup2(&actions, 0, 2)
            }
        } catch {
            close(master)
            throw error
        }
        // The thread has a descriptor of its own, because it may still read after the object was released and `master`
        // was closed. The number of `master` may then belong to another file.
        let output = fcntl(master, F_DUPFD_CLOEXEC, 0)
        Thread.detachNewThread { [weak self] in
            defer { close(output) }
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                let count = read(output, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                // EIO: no process has the terminal open any more.
                guard count > 0, let self else { return }
                self.content.withLock { $0 += buffer[..<count] }
            }
        }
    }

    deinit {
        if status.withLock({ $0 }) == nil {
            kill(processIdentifier, SIGKILL)
            waitpid(processIdentifier, nil, 0)
        }
        close(master)
    }

    /// All output so far.
    package var text: String { String(decoding: content.withLock { $0 }, as: UTF8.self) }

    /// The lines of the last frame, without control sequences. The program must start each frame at the upper left
    /// corner (CUP without parameters).
    package var lastPicture: [String] {
        guard let last = text.components(separatedBy: "\u{1B}[H").last else { return [] }
        // The terminal's driver inserts carriage returns.
        return Self.withoutSequences(last).unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in String(String.UnicodeScalarView(line.filter { $0 != "\r" })) }
    }

    /// Returns the text without control sequences (ECMA-48, 5.4).
    package static func withoutSequences(_ text: String) -> String {
        text.replacing(#/\u{1B}\[[0-?]*[ -/]*[@-~]/#, with: "")
    }

    /// Sends text as keyboard input.
    package func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { write(master, $0.baseAddress, $0.count) }
    }

    /// Resizes the terminal. The kernel notifies the program by SIGWINCH.
    package func resize(columns: Int, rows: Int) { Self.resize(master, columns, rows) }

    private static func resize(_ descriptor: Int32, _ columns: Int, _ rows: Int) {
        // `struct winsize` of ioctl_tty(2): rows, columns, and two unused fields.
        var size = [UInt16(rows), UInt16(columns), 0, 0]
        _ = ioctl(descriptor, UInt(TIOCSWINSZ), &size)
    }

    /// Whether the terminal echoes input. A program that turns echo off must turn it on again before it exits or stops.
    package var echoes: Bool {
        var mode = termios()
        return tcgetattr(master, &mode) == 0 && mode.c_lflag & tcflag_t(ECHO) != 0
    }

    package func signal(_ number: Int32) { kill(processIdentifier, number) }

    /// Waits until the program exits and returns its status.
    package func wait(deadline: Duration = .seconds(120)) async throws -> ChildProcess.Status {
        try await waitUntil(deadline: deadline, description: "the program on the terminal ends: \(text)") {
            if status.withLock({ $0 }) != nil { return true }
            var raw: Int32 = 0
            guard waitpid(processIdentifier, &raw, WNOHANG) == processIdentifier else { return false }
            status.withLock { $0 = raw }
            return true
        }
        let raw = status.withLock { $0 } ?? 0
        return raw & 0x7F == 0 ? .exited((raw >> 8) & 0xFF) : .signalled(raw & 0x7F)
    }

    /// Waits until the output so far, without its control sequences, contains `wanted`.
    package func waitForText(_ wanted: String, deadline: Duration = .seconds(120)) async throws {
        do {
            try await waitUntil(deadline: deadline) { Self.withoutSequences(text).contains(wanted) }
        } catch {
            throw DeadlineError("the terminal shows “\(wanted)”; it shows \(lastPicture)")
        }
    }
}
