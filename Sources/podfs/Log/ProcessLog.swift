import Foundation
import Logging
import Platform
import Synchronization

/// The log of a process: standard error, which is a file if the process runs in the background.
///
/// Messages contain text from feeds and servers. Callers do not escape it; the log writes characters that could control
/// a terminal or forge a line as escapes such as `\u{1B}`.
struct ProcessLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info
    private let label: String

    init(label: String) { self.label = label }

    /// Sends all log messages of the process to standard error.
    ///
    /// - Parameter file: The log file, rotated if standard error refers to it.
    static func begin(file: LogFile) {
        ProcessLog.file.withLock { $0 = file }
        LoggingSystem.bootstrap { ProcessLog(label: $0) }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let line = Self.line(
            level: event.level.rawValue, label: label, source: event.source, message: event.message.description,
            at: time(nil))
        Self.file.withLock { file in
            file?.rotate(STDERR_FILENO)
            Terminal.write(line, to: STDERR_FILENO)
        }
    }

    /// Formats a line, `2026-11-22T07:45:18+0000 info podfs.daemon: [PodcastService] MESSAGE`, with a line feed.
    static func line(level: String, label: String, source: String, message: String, at moment: time_t) -> String {
        var moment = moment
        var parts = tm()
        localtime_r(&moment, &parts)
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, "%Y-%m-%dT%H:%M:%S%z", &parts)
        let date = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return "\(date) \(level) \(label): [\(source)] \(escaped(message))\n"
    }

    /// Escapes control characters, line ends and marks that change the text direction, so that the text is on one line.
    static func escaped(_ text: String) -> String {
        PlainText.replacing(PlainText.isHarmful, in: text) { "\\u{\(String($0.value, radix: 16, uppercase: true))}" }
    }

    /// The log file to rotate. The lock also prevents the lines of several threads from interleaving.
    private static let file = Mutex<LogFile?>(nil)
}

/// A log file of limited size: a full file is renamed to `oldPath`, replacing the file there, and a new one is started.
struct LogFile: Sendable {
    let path: String
    /// The size in bytes at which the file is full.
    var limit: Int64 = 1 << 20

    /// The path to which a full file is renamed.
    var oldPath: String { path + ".1" }

    /// Renames the file if it is full. Call it before the file is opened as the log of a new process.
    func rotate() {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, Int64(status.st_size) >= limit else {
            return
        }
        rename(path, oldPath)
    }

    /// Moves the contents to `oldPath` if `descriptor`, which appends, refers to this log and the log is full. Errors
    /// are ignored: a growing log is better than none. Several processes, also hooks (programs that podfs starts), may
    /// append to one log; they continue at its new end.
    func rotate(_ descriptor: Int32) {
        var own = stat()
        var there = stat()
        guard fstat(descriptor, &own) == 0, Int64(own.st_size) >= limit, lstat(path, &there) == 0,
            there.st_ino == own.st_ino, there.st_dev == own.st_dev, flock(descriptor, LOCK_EX | LOCK_NB) == 0
        else { return }
        defer { flock(descriptor, LOCK_UN) }
        // Another process may have emptied it before the lock.
        guard fstat(descriptor, &own) == 0, Int64(own.st_size) >= limit else { return }
        try? FileManager.default.removeItem(atPath: oldPath)
        if (try? FileManager.default.copyItem(atPath: path, toPath: oldPath)) != nil { ftruncate(descriptor, 0) }
    }
}
