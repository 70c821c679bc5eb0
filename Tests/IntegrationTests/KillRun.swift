import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

/// One run of the kill test: programs read files of a slow server through a mount, while mount and daemon are killed at
/// random times.
final class KillRun: Sendable {
    /// The results of a run.
    struct Report: Sendable {
        var kills = 0
        var mountKills = 0
        var daemonKills = 0
        /// The number of kills during a transfer.
        var killsInTransfer = 0
        var readsDone = 0
        /// The number of reads that failed because their mount or several daemons were killed. The keys are the error
        /// messages.
        var readsCut: [String: Int] = [:]
        var wrongBytes: [String] = []
        var hung: [String] = []
        var unexplained: [String] = []
        var digestsDiffer: [String] = []
        var bytesOfFiles = 0
        var bytesSent = 0

        var text: String {
            let again = Double(bytesSent) / Double(max(bytesOfFiles, 1))
            let cut = readsCut.sorted { $0.key < $1.key }.map { "\($0.value) cut by “\($0.key)”" }.joined(
                separator: ", ")
            return "\(kills) kills (mount \(mountKills), daemon \(daemonKills)), \(killsInTransfer) in mid-transfer, "
                + "\(readsDone) correct reads, \(cut), "
                + "\(bytesSent) bytes sent for \(bytesOfFiles) (\((again * 1_000).rounded() / 1_000) times)"
        }
    }

    private enum Victim: CaseIterable { case mount, daemon, both }

    private static let files = 20
    private static let readers = 6
    /// The mean time between two kills in seconds, including the time to mount again.
    private static let interval = 0.9
    /// The expected number of concurrent responses, for readers and background downloads. The rate of each response is
    /// computed from it.
    private static let streams = 8.0

    private let show: MountedShow
    private let sources: TemporaryDirectory
    private let kills: Int
    private let seed: UInt64
    private let report = Mutex(Report())
    private let isOver = Atomic<Bool>(false)
    private let deaths = Atomic<Int>(0)
    /// A counter that is odd from just before a mount is killed until the next mount is ready.
    private let mountTurns = Atomic<Int>(0)

    init(kills: Int, seed: UInt64) async throws {
        self.kills = kills
        self.seed = seed
        var generator = SeededGenerator(seed: seed)
        let sizes = (1...Self.files).map { _ in Int.random(in: 200_000...3_000_000, using: &generator) }
        show = try await MountedShow(
            episodes: Self.files, length: nil,
            configuration: "[transfers]\nfilling = 8\nfilling_per_host = 4\n", isMounted: false)
        sources = try TemporaryDirectory()
        let total = sizes.reduce(0, +)
        // At twice this rate, the transfers would end with the last kill. A kill after their end would test nothing.
        let rate = Int(Double(total) / (Self.interval * Double(kills) * Self.streams) / 2)
        for number in 1...Self.files {
            let content = MountedShow.content(number, size: sizes[number - 1])
            try sources.write("\(number)", content.bytes)
            show.server.serve("/\(number).mp3", MountedShow.resource(number, size: content.size)) { _ in
                .throttle(bytesPerSecond: max(rate, 4_096))
            }
        }
        report.withLock { $0.bytesOfFiles = total }
        try await show.remount()
    }

    // MARK: The run

    func perform() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for reader in 0..<Self.readers {
                group.addTask { try await self.read(as: reader) }
            }
            do {
                try await kill()
            } catch {
                isOver.store(true, ordering: .sequentiallyConsistent)
                throw error
            }
            // From now on new requests are served at full speed; running responses are aborted.
            for number in 1...Self.files {
                show.server.serve("/\(number).mp3", MountedShow.resource(number, size: try size(number)))
            }
            show.server.stop()
            try show.server.start()
            isOver.store(true, ordering: .sequentiallyConsistent)
            try await group.waitForAll()
        }
    }

    /// Kills the mount, the daemon or both at random times. Mounts again after each kill of the mount.
    private func kill() async throws {
        var generator = SeededGenerator(seed: seed &+ 1_000_003)
        for _ in 0..<kills {
            let pause = Int.random(in: 50...1_500, using: &generator)
            let victim = Victim.allCases.randomElement(using: &generator) ?? .both
            try await Task.sleep(for: .milliseconds(pause))
            // The readers need a daemon, so the mount starts one soon after a kill.
            try await waitUntil(deadline: .seconds(60), description: "a daemon runs") {
                show.home.daemonProcessIdentifier != nil
            }
            let mount = victim == .daemon ? nil : try await show.mountProcess()
            let isInTransfer = show.server.requests.contains { !$0.isFinished && $0.status != nil }
            if victim != .daemon { mountTurns.add(1, ordering: .sequentiallyConsistent) }
            deaths.add(1, ordering: .sequentiallyConsistent)
            if let mount { Glibc.kill(mount, SIGKILL) }
            if victim != .mount { show.home.killDaemon() }
            report.withLock {
                $0.kills += 1
                if victim != .daemon { $0.mountKills += 1 }
                if victim != .mount { $0.daemonKills += 1 }
                if isInTransfer { $0.killsInTransfer += 1 }
            }
            if victim != .daemon {
                try await show.remount()
                mountTurns.add(1, ordering: .sequentiallyConsistent)
            }
        }
    }

    // MARK: Reading

    /// A file or a part of it that is compared with its source.
    private struct Reading {
        var number: Int
        var offset = 0
        var count: Int?

        var description: String { "file \(number) from \(offset), \(count.map(String.init) ?? "all")" }
    }

    private func read(as reader: Int) async throws {
        var generator = SeededGenerator(seed: seed &+ UInt64(reader) &* 7_919 &+ 17)
        while !isOver.load(ordering: .sequentiallyConsistent) {
            var reading = Reading(number: Int.random(in: 1...Self.files, using: &generator))
            let path = sources.file("\(reading.number)")
            let size = try size(reading.number)
            // Every third reader reads whole files. The others read parts, one in four of them at the end of the file.
            if !reader.isMultiple(of: 3) {
                let count = Int.random(in: 1...120_000, using: &generator)
                reading.offset =
                    Int.random(in: 0..<4, using: &generator) == 0
                    ? max(0, size - count) : Int.random(in: 0..<size, using: &generator)
                reading.count = min(count, size - reading.offset)
            }
            // A read fails while no mount is ready: pause before the next one.
            if try await !compare(reading, path) { try await Task.sleep(for: .milliseconds(50)) }
        }
    }

    private func size(_ number: Int) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: sources.file("\(number)"))
        return try #require(attributes[.size] as? NSNumber).intValue
    }

    /// Compares a file in the mount with its source by cmp(1), and records the result in the report.
    ///
    /// - Returns: Whether the bytes could be read and are equal.
    @discardableResult
    private func compare(_ reading: Reading, _ source: String) async throws -> Bool {
        let turn = mountTurns.load(ordering: .sequentiallyConsistent)
        let deathsBefore = deaths.load(ordering: .sequentiallyConsistent)
        let begin = ContinuousClock.now
        var arguments: [String] = []
        if let count = reading.count { arguments += ["-n", "\(count)", "-i", "\(reading.offset)"] }
        let result: ChildProcess.Result
        do {
            result = try await ChildProcess.run(
                "cmp", arguments + ["--", source, show.path(reading.number)], deadline: .seconds(900))
        } catch is DeadlineError {
            report.withLock { $0.hung.append(reading.description) }
            return false
        }
        let mountHasDied =
            !turn.isMultiple(of: 2) || mountTurns.load(ordering: .sequentiallyConsistent) != turn
        let daemonsDied = deaths.load(ordering: .sequentiallyConsistent) - deathsBefore
        let duration = ContinuousClock.now - begin
        report.withLock { report in
            switch result.exitCode {
            case 0: report.readsDone += 1
            // cmp(1) exits with 1 if the files differ, or one of them ends early.
            case 1: report.wrongBytes.append("\(reading.description): \(result.output)\(result.error)")
            default:
                let reason = Self.reason(result)
                // The open files of a killed mount fail, and so do opens until the next mount is ready. A read fails
                // with ETIMEDOUT if three daemons have died during it, the first of them a minute ago.
                let hasTimedOut = reason == Self.text(ETIMEDOUT) && daemonsDied >= 3 && duration >= .seconds(60)
                if mountHasDied || hasTimedOut {
                    report.readsCut[reason, default: 0] += 1
                } else {
                    report.unexplained.append("\(reading.description): \(result.error)")
                }
            }
        }
        return result.exitCode == 0
    }

    private static func text(_ code: Int32) -> String { String(cString: strerror(code)) }

    /// Returns the reason from cmp's error message `cmp: FILE: REASON`; the exit status if there is no message.
    private static func reason(_ result: ChildProcess.Result) -> String {
        let line = result.error.trimmingCharacters(in: .whitespacesAndNewlines)
        return line.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "\(result.status)"
    }

    // MARK: The end

    /// Reads every file completely, compares digests, and returns the report.
    func finish() async throws -> Report {
        for number in 1...Self.files {
            try await compare(Reading(number: number), sources.file("\(number)"))
        }
        for number in 1...Self.files {
            let path = show.path(number)
            try await show.waitForState("cached", of: path)
            let sum = try await ChildProcess.run("sha256sum", ["--", sources.file("\(number)")]).output.prefix(64)
            let attribute = try await show.attribute("sha256", of: path)
            let read = try await ChildProcess.run("sha256sum", ["--", path]).output.prefix(64)
            if attribute != String(sum) || read != sum {
                report.withLock { $0.digestsDiffer.append("file \(number): \(attribute ?? "none"), read \(read)") }
            }
        }
        let sent = show.server.requests.filter { $0.path.hasSuffix(".mp3") }.reduce(0) { $0 + $1.bodyBytesWritten }
        return report.withLock { report in
            report.bytesSent = sent
            return report
        }
    }
}
