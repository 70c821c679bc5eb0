import Foundation
import Glibc

/// A new folder (0700) that is removed with its contents when the last reference is released.
///
/// Its path is short, so that sockets in it fit into the 108 bytes of a `sockaddr_un`.
package final class TemporaryDirectory: Sendable {
    package let path: String

    /// - Parameter parent: `/tmp`, or `/dev/shm` for a test that needs memory rather than a disk. The default is not
    ///   `TMPDIR`, because its path may be long.
    package init(in parent: String = "/tmp") throws {
        var template = Array("\(parent)/podfs-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemCallError("mkdtemp") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        // If a program that a test has started creates a file during the removal, the removal fails and is repeated.
        for _ in 1...10 where FileManager.default.fileExists(atPath: path) {
            try? FileManager.default.removeItem(atPath: path)
        }
    }

    /// Returns the path of a file in the folder, which need not exist.
    package func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Creates a folder in this one, with its parents, and returns its path.
    @discardableResult
    package func makeDirectory(_ name: String) throws -> String {
        let path = file(name)
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return path
    }

    /// Writes a file in the folder and returns its path.
    @discardableResult
    package func write(_ name: String, _ contents: some Sequence<UInt8>) throws -> String {
        let path = file(name)
        try Data(contents).write(to: URL(fileURLWithPath: path))
        return path
    }

    @discardableResult
    package func write(_ name: String, text: String) throws -> String { try write(name, text.utf8) }

    /// Writes a script that can be executed, and returns its path. The script's folder must exist; the text remains
    /// there in `NAME.text`.
    @discardableResult
    package func writeProgram(_ name: String, text: String) throws -> String {
        try copyProgram(write("\(name).text", text: text), as: name)
    }

    /// Copies a program, so that the copy can be executed, and returns the path of the copy.
    ///
    /// Another process copies it. If this one did, a child forked meanwhile would have the copy open for writing until
    /// its `execve`, and a file that is open for writing cannot be executed (ETXTBSY).
    @discardableResult
    package func copyProgram(_ source: String, as name: String) throws -> String {
        let copy = try ChildProcess("install", ["-D", "-m", "755", source, file(name)]).waitBlocking()
        guard copy.exitCode == 0 else { throw ProgramNotCopied(reason: copy.error) }
        return file(name)
    }
}

/// `install` failed.
private struct ProgramNotCopied: Error {
    var reason: String
}
