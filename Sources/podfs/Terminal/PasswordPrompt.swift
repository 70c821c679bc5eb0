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
        // Ctrl-C is ignored while echo is off: it would leave the terminal without echo.
        let interrupt = isHidden ? signal(SIGINT, SIG_IGN) : nil
        defer { if isHidden { signal(SIGINT, interrupt) } }
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

    /// Reads a line byte by byte, so that nothing after it is consumed; `nil` at the end of the input. Throws if the
    /// line is too long.
    private static func line(from descriptor: Int32) throws -> String? {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            let count = retryingInterrupts { read(descriptor, &byte, 1) }
            if count <= 0 { return bytes.isEmpty ? nil : text(bytes) }
            if byte == UInt8(ascii: "\n") { return text(bytes) }
            guard bytes.count < longest else {
                throw CommandError(.usage, "the input is longer than \(longest) bytes")
            }
            bytes.append(byte)
        }
    }

    private static func text(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes[...], as: UTF8.self)
    }
}
