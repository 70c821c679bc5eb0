internal import Platform
package import PodcastFeed
package import PodcastProtocol
package import Transfers

/// The active tasks, as `.status`, `.status.json` and `podfs status` show them.
package struct StatusReport: Sendable, Equatable {
    /// An active task, and the time until its next attempt.
    @dynamicMemberLookup
    package struct Task: Sendable, Equatable {
        package var info: TaskInfo
        /// The seconds until the next attempt after a failure.
        package var retryIn: Double?

        /// - Parameter now: Seconds since 1970 UTC.
        package init(_ info: TaskInfo, now: Int64) {
            self.info = info
            self.info.received = max(0, info.received)
            self.info.expected = info.expected.map { max(0, $0) }
            retryIn = info.nextTry.flatMap { $0 >= now ? Double($0 - now) : nil }
        }

        /// The properties of the daemon's description.
        package subscript<Value>(dynamicMember path: WritableKeyPath<TaskInfo, Value>) -> Value {
            get { info[keyPath: path] }
            set { info[keyPath: path] = newValue }
        }

        /// Percent; `nil` while the size is unknown.
        package var progress: Double? {
            guard let expected = info.expected, expected > 0 else { return nil }
            // `nextDown`: the result is not 100 before the last byte has arrived, even if the quotient rounds up.
            let received = info.received
            return received >= expected ? 100 : min(Double(received) * 100 / Double(expected), 100.0.nextDown)
        }

        /// `progress`, or 0 for a task that has not begun.
        package var shownProgress: Double? { progress ?? (info.received == 0 && info.state != .running ? 0 : nil) }

        /// The total size as text, with a tilde if it is an estimate; `?` if nothing is known.
        package var sizeText: String {
            info.expected.map(ByteText.size) ?? info.estimate.map { "~" + ByteText.size($0) } ?? "?"
        }

        /// The failure and the time until the next attempt, on one line; `nil` without a failure.
        package var reason: String? { info.error.map { StatusReport.reason($0, retryIn: retryIn) } }

        /// The remaining seconds at the current rate; `nil` if they cannot be computed.
        package var eta: Double? {
            guard info.state == .running, let expected = info.expected, let rate = info.rate, rate > 0,
                expected >= info.received
            else { return nil }
            return ((Double(expected) - Double(info.received)) / rate).rounded(.up)
        }
    }

    package var tasks: [Task]
    /// The number of tasks that are not in `tasks`, by state.
    package var omitted: [TaskState: Int] = [:]
    /// Due work that is being skipped, and why; one line each.
    package var skipped: [String] = []
    /// The problem of the archive, one line; `nil` if there is none.
    package var archive: String?
    /// The number of covers that are still to be fetched.
    package var covers = 0
    /// The number of episodes that probes, programs that read only headers and tags, have opened or read since the
    /// daemon's start; `nil` if it is not known.
    package var probed: Int?

    package init(tasks: [Task]) { self.tasks = tasks.sorted { $0.id < $1.id } }

    /// - Parameter now: Seconds since 1970 UTC.
    package init(_ list: TaskList, now: Int64 = WallTime.now.seconds) {
        self.init(tasks: list.tasks.map { Task($0, now: now) })
        omitted = list.omitted
    }

    package init(_ tasks: [TaskInfo], now: Int64 = WallTime.now.seconds) { self.init(TaskList(tasks), now: now) }

    /// Returns a failure with the time until the next attempt, such as `the server answered 500; next try in 12s`.
    package static func reason(_ error: String, retryIn: Double?) -> String {
        PlainText.oneLine(error) + (retryIn.map { "; next try in \(TimeText.duration($0))" } ?? "")
    }

    /// The number of tasks in each of the states `TaskState.counted`.
    package var counts: [(state: TaskState, count: Int)] {
        TaskState.counted.map { state in (state, tasks.count { $0.state == state } + (omitted[state] ?? 0)) }
    }

    /// The number of tasks that are not listed.
    package var omittedCount: Int { omitted.values.reduce(0, +) }

    /// The line that counts the tasks that are not listed.
    var omittedText: String { "\(omittedCount) more; podfs status --all lists them" }

    /// The total rate of all tasks in bytes per second.
    package var rate: Double { tasks.reduce(0) { $0 + ($1.rate ?? 0) } }

    // MARK: JSON

    /// The value of `.status.json` and `podfs status --json`.
    package var json: OrderedJSON {
        var members: [(String, OrderedJSON)] = [
            ("tasks", .array(tasks.map(\.json))),
            (
                "summary",
                .object(
                    counts.map { ($0.state.rawValue, .int(Int64($0.count))) } + [("rate", .int(WholeNumber.of(rate)))]
                        + (probed.map { [("probed", .int(Int64($0)))] } ?? []))
            ),
        ]
        if omittedCount > 0 { members.append(("omitted", .int(Int64(omittedCount)))) }
        // The member is omitted if nothing is skipped, which is usual.
        if !skipped.isEmpty { members.append(("skipped", .array(skipped.map { .string($0) }))) }
        if let archive { members.append(("archive", .string(archive))) }
        if covers > 0 { members.append(("covers", .int(Int64(covers)))) }
        return .object(members)
    }

    /// The JSON value as UTF-8 text with a line feed at the end.
    package var jsonBytes: [UInt8] { json.encoded() + [UInt8(ascii: "\n")] }

    // MARK: Text

    /// The text of `.status`: a heading and one line for each task, or `no active tasks`; then one line for each
    /// element of `skipped`, one for `archive`, and one for `covers`.
    package var text: String {
        let notes =
            skipped.map { "skipped: \(PlainText.oneLine($0))\n" }.joined()
            + (archive.map { "archive: \(PlainText.oneLine($0))\n" } ?? "")
            + (covers > 0 ? "covers: \(WholeNumber.text(covers)) still to be fetched\n" : "")
        if tasks.isEmpty { return "no active tasks\n" + notes }
        let heading = counts.map { "\($0.count) \($0.state.rawValue)" } + [ByteText.rate(rate)]
        var lines = [heading.joined(separator: ", ")]
        lines += tasks.map(\.line)
        if omittedCount > 0 { lines.append(omittedText) }
        return lines.joined(separator: "\n") + "\n" + notes
    }
}

extension StatusReport.Task {
    /// The task as an element of `tasks` in ``StatusReport/json``.
    package var json: OrderedJSON {
        var members: [(String, OrderedJSON)] = [
            ("id", .int(info.id.rawValue)), ("kind", .string(info.kind.rawValue)), ("path", .string(info.path)),
            ("state", .string(info.state.rawValue)),
            ("progress", progress.map { .double(($0 * 10).rounded(.down) / 10) } ?? .null),
            ("bytes_received", .int(info.received)), ("bytes_expected", .int(orNull: info.expected)),
            ("rate", info.rate.map { .int(WholeNumber.of($0)) } ?? .null),
            ("eta", eta.map { .int(WholeNumber.of($0)) } ?? .null),
            ("error", .string(orNull: info.error)), ("started", .string(TimeText.iso8601(info.started))),
        ]
        // Members that most tasks lack.
        if let estimate = info.estimate, info.expected == nil { members.append(("bytes_estimated", .int(estimate))) }
        if let retryIn { members.append(("retry_in", .int(WholeNumber.of(retryIn)))) }
        return .object(members)
    }

    /// Bar, percent, received and total size, rate and remaining time, each padded to the same width for all tasks.
    package func columns(bar width: Int) -> [String] {
        [
            ProgressBar.text(shownProgress, width: width), ProgressBar.percent(shownProgress),
            "\(ByteText.size(info.received))/\(sizeText)".padded(19), (info.rate.map(ByteText.rate) ?? "-").padded(10),
            (eta.map(TimeText.duration) ?? "-").padded(8),
        ]
    }

    /// One line: state, bar, percent, received and total size, rate, remaining time, path; then the error.
    package var line: String {
        // Names are untrusted: they must neither control the terminal nor break the line.
        // An upload has no path: commands refer to it by its number.
        let path = (info.kind == .upload ? "upload:\(info.id) " : "") + PlainText.oneLine(info.path)
        let line = ([info.state.rawValue.padded(9)] + columns(bar: 20) + [path]).joined(separator: " ")
        return line + (reason.map { ": " + $0 } ?? "")
    }
}

/// A bar of `#` and `.`, which looks the same in every font and on every terminal.
package enum ProgressBar {
    /// Returns a bar of `width` characters in brackets; question marks if the progress is unknown.
    package static func text(_ percent: Double?, width: Int) -> String {
        guard let percent else { return "[" + String(repeating: "?", count: width) + "]" }
        let filled = min(width, max(0, Int(percent / 100 * Double(width))))
        return "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled) + "]"
    }

    /// Returns ` 12.3%`, or a question mark, in six columns. Rounded down, so that it is not 100 before the last byte
    /// has arrived.
    package static func percent(_ progress: Double?) -> String {
        guard let progress else { return "     ?" }
        let tenths = Int((progress * 10).rounded(.down))
        let text = "\(tenths / 10).\(tenths % 10)%"
        return String(repeating: " ", count: max(0, 6 - text.count)) + text
    }
}

extension String {
    /// Pads the text with spaces on the right.
    fileprivate func padded(_ width: Int) -> String {
        count >= width ? self : self + String(repeating: " ", count: width - count)
    }
}
