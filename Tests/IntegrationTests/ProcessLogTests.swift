import Foundation
import Glibc
import TestSupport
import Testing

@testable import podfs

/// Log messages and log files.
@Suite struct ProcessLogTests {
    @Test(arguments: [
        ("plain text: ü, 漢", "plain text: ü, 漢"),
        ("red \u{1B}[31m", "red \\u{1B}[31m"),
        ("two\nlines\r", "two\\u{A}lines\\u{D}"),
        ("\u{202E}txt.3pm", "\\u{202E}txt.3pm"),
        ("\u{9B}2J\u{7F}", "\\u{9B}2J\\u{7F}"),
    ]) func controlCharactersAreEscaped(text: String, escaped: String) {
        #expect(ProcessLog.escaped(text) == escaped)
    }

    @Test func aLineHasTimeLevelLabelAndSource() {
        let line = ProcessLog.line(
            level: "warning", label: "podfs.daemon", source: "PodcastService", message: "a\u{7}b\nc", at: 1_800_000_000)
        #expect(line.hasSuffix(" warning podfs.daemon: [PodcastService] a\\u{7}b\\u{A}c\n"))
        #expect(line.hasPrefix("2027-01-15T"))
        #expect(line.split(separator: "\n").count == 1)
    }

    // MARK: The file

    /// Returns the contents of the log and of the previous file.
    private func contents(_ file: LogFile) -> [String?] {
        func content(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
        return [content(file.path), content(file.oldPath)]
    }

    @Test func aFullLogBecomesTheOldOne() throws {
        let folder = try TemporaryDirectory()
        let file = LogFile(path: folder.file("daemon.log"), limit: 10)
        file.rotate()
        #expect(contents(file) == [nil, nil])
        try folder.write("daemon.log", text: "short")
        file.rotate()
        #expect(contents(file) == ["short", nil])
        try folder.write("daemon.log", text: "the first one")
        file.rotate()
        #expect(contents(file) == [nil, "the first one"])
        try folder.write("daemon.log", text: "the second one")
        file.rotate()
        #expect(contents(file) == [nil, "the second one"])
    }

    @Test func twoProcessesWithOneLogKeepOneOldFile() throws {
        let folder = try TemporaryDirectory()
        let file = LogFile(path: folder.file("daemon.log"), limit: 10)
        func open() throws -> Int32 {
            let descriptor = Glibc.open(file.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            return try #require(descriptor >= 0 ? descriptor : nil)
        }
        // Two descriptors of one log stand for two processes.
        let (one, other) = (try open(), try open())
        defer { for descriptor in [one, other] { close(descriptor) } }
        func log(_ text: String, _ descriptor: Int32) {
            file.rotate(descriptor)
            Terminal.write(text, to: descriptor)
        }
        log("first", one)
        log("second", other)
        #expect(contents(file) == ["firstsecond", nil])
        log("third", one)
        #expect(contents(file) == ["third", "firstsecond"])
        // The second process finds a new file at the path. It switches to this file, and renames nothing.
        log("fourth", other)
        #expect(contents(file) == ["thirdfourth", "firstsecond"])
        log("fifth", other)
        log("sixth", one)
        #expect(contents(file) == ["fifthsixth", "thirdfourth"])
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["daemon.log", "daemon.log.1"])
    }

    @Test func theLogOfAnotherDaemonIsNotRotated() throws {
        let folder = try TemporaryDirectory()
        let file = LogFile(path: folder.file("daemon.log"), limit: 10)
        try folder.write("daemon.log", text: "the log of another daemon")
        let own = open(folder.file("mine"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        defer { close(own) }
        Terminal.write("longer than the limit", to: own)
        file.rotate(own)
        #expect(contents(file) == ["the log of another daemon", nil])
    }
}
