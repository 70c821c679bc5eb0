import Foundation
import Glibc
import Platform

/// Prompts for passwords and user names, on /dev/tty since standard input may be redirected.
enum PasswordPrompt {
    /// The maximum length of a password in bytes.
    private static let longest = 4_096

    /// Reads the password from the first line of standard input; throws if it is empty or too long.
    static func fromStandardInput() throws -> String {
        guard let line = try line(from: 0), !line.isEmpty else {
            throw CommandError(.usage, "--password-stdin: there is no password on standard input")
        }
        return line
    }

    /// Writes a prompt and reads a line; throws without a terminal, or if the line is empty or too long.
    ///
    /// - Parameter hidden: Whether to turn off echo.
    static func ask(_ question: String, hidden: Bool = false) throws -> String {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else {
            throw CommandError(
                .usage,
                "there is no terminal to ask on: give --user, and the password with --password-stdin or in ~/.netrc")
        }
        defer { close(terminal) }
        var before = termios()
        let isHidden = hidden && tcgetattr(terminal, &before) == 0
        // Ctrl-C is ignored while echo is off.
        let interrupt = isHidden ? signal(SIGINT, SIG_IGN) : nil
        defer { if isHidden { signal(SIGINT, interrupt) } }
        // The other signals that end or stop the process would leave the terminal without echo, so their handler
        // restores the terminal's mode first.
        silenced = (terminal, before)
        let former = isHidden ? caught.map { ($0, signal($0, restoreEcho)) } : []
        defer { for (number, handler) in former { signal(number, handler) } }
        if isHidden {
            var silent = before
            silent.c_lflag &= ~tcflag_t(ECHO)
            // TCSAFLUSH discards input typed before, which was echoed.
            guard tcsetattr(terminal, TCSAFLUSH, &silent) == 0 else {
                throw CommandError(.failed, "the terminal cannot hide the password: use --password-stdin")
            }
        }
        defer {
            if isHidden {
                tcsetattr(terminal, TCSAFLUSH, &before)
                Terminal.write("\n", to: terminal)
            }
        }
        Terminal.write(question, to: terminal)
        guard let answer = try line(from: terminal), !answer.isEmpty else {
            throw CommandError(.usage, "the input is empty")
        }
        return answer
    }

    /// The signals that end the process, except SIGINT, and SIGTSTP (Ctrl-Z).
    private static let caught = [SIGQUIT, SIGTERM, SIGHUP, SIGTSTP]

    /// The terminal whose echo is off, and its former mode. `nonisolated(unsafe)`: `ask` writes it only while
    /// `restoreEcho`, its only reader, is not installed, and a command asks one question at a time.
    private nonisolated(unsafe) static var silenced = (terminal: Int32(-1), mode: termios())

    /// A signal handler that turns on echo and then performs the signal's default action. When the process continues
    /// after a stop, the handler turns echo off again. It calls only async-signal-safe functions (signal-safety(7)).
    private static let restoreEcho: @convention(c) (Int32) -> Void = { number in
        let terminal = silenced.terminal
        var former = silenced.mode
        var current = termios()
        tcgetattr(terminal, &current)
        tcsetattr(terminal, TCSANOW, &former)
        let handler = signal(number, SIG_DFL)
        raise(number)
        // The signal is blocked while its handler runs.
        var numbers = sigset_t()
        sigemptyset(&numbers)
        sigaddset(&numbers, number)
        pthread_sigmask(SIG_UNBLOCK, &numbers, nil)
        // Reached after SIGCONT only. If the process continues in the background, tcsetattr stops it again by SIGTTOU.
        signal(number, handler)
        tcsetattr(terminal, TCSAFLUSH, &current)
    }

    /// Reads a line byte by byte, so that nothing after it is consumed; `nil` at the end of the input. Throws if the
    /// line is too long.
    private static func line(from descriptor: Int32) throws -> String? {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            let count = retryingInterrupts { read(descriptor, &byte, 1) }
            if count <= 0 { return bytes.isEmpty ? nil : text(bytes) }
            if byte == UInt8(ascii: "\n") { return text(bytes) }
            guard bytes.count < longest else { throw CommandError(.usage, "the input is longer than \(longest) bytes") }
            bytes.append(byte)
        }
    }

    private static func text(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes[...], as: UTF8.self)
    }
}
