import ArgumentParser
import Platform
import PodcastFeed
import PodcastPages
import PodcastProtocol
import Transfers

struct EventsCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "events", abstract: "Print events of transfers and subscriptions as they happen.",
        discussion: """
            One event per line, until Ctrl-C. The daemon stores the events of completed and failed downloads and uploads: the \
            last thousand, for seven days. --since first prints those after a sequence number; 0 prints all.

            Examples:
              podfs events
              podfs events --json --since 0 | jq 'select(.event == "completed") | .path'
            """)

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @Option(help: "Start with the stored events after this sequence number.")
    var since: Int64?

    @Flag(help: "Exit after the stored events; needs --since.")
    var once = false

    func validate() throws {
        if once, since == nil { throw ValidationError("--once prints stored events: give --since too") }
        if let since, since < 0 { throw ValidationError("--since needs a sequence number, 0 or more") }
    }

    func perform() async throws {
        let installation = try Installation()
        if once, let since {
            for event in try await installation.perform(.events(since: since), \.events) { try print(event) }
            return
        }
        // The sequence number after which events are printed: at first `--since`, then that of the last printed event.
        var last = since
        let _: Never = try await installation.follow(
            begin: { daemon in
                let stored = try await daemon.perform(.events(since: last ?? 0), \.events)
                // Without `--since`, events that were stored before the first connection are not printed.
                if last != nil { for event in stored { try print(event) } }
                last = stored.last?.sequence ?? last ?? 0
                return nil
            },
            next: { event, _ in
                guard event.sequence > last ?? 0 else { return nil }
                try print(event)
                last = event.sequence
                return nil
            })
    }

    /// - Throws: If standard output cannot be written, since a reader would miss events.
    private func print(_ event: Event) throws {
        if json {
            Terminal.print(json: event.json)
        } else {
            Terminal.print(event.line)
        }
        try Terminal.checkOutput()
    }
}

extension Event {
    /// The task; `nil` also for an open or a probe.
    private var realTask: TaskInfo? { task.flatMap { $0.id == 0 ? nil : $0 } }

    /// The event as a line of `podfs events --json`.
    fileprivate var json: String {
        var value: [(String, OrderedJSON)] = [
            ("seq", .int(sequence)), ("time", .string(TimeText.iso8601(time))), ("event", .string(kind.rawValue)),
            ("task", .int(orNull: realTask?.id.rawValue)), ("kind", .string(orNull: realTask?.kind.rawValue)),
            ("id", .int(orNull: episode?.rawValue)), ("path", .string(orNull: path)),
            ("state", .string(orNull: task?.state.rawValue)), ("bytes_received", .int(orNull: task?.received)),
            ("bytes_expected", .int(orNull: task?.expected)), ("error", .string(orNull: task?.error)),
        ]
        if let listening {
            value += [
                ("position", .double(orNull: listening.position)), ("duration", .double(orNull: listening.duration)),
                ("played", .bool(listening.played)),
            ]
        }
        return String(decoding: OrderedJSON.object(value).encoded(pretty: false), as: UTF8.self)
    }

    /// The event as a readable line.
    fileprivate var line: String {
        var words = [TimeText.iso8601(time), kind.rawValue]
        if kind == .state || kind == .progress, let task { words.append(task.state.rawValue) }
        if let received = task?.received, let expected = task?.expected, kind != .completed {
            words.append("\(ByteText.size(received))/\(ByteText.size(expected))")
        } else if let expected = task?.expected, kind == .completed {
            words.append(ByteText.size(expected))
        }
        if let task, task.kind == .upload { words.append("upload:\(task.id)") }
        if let listening {
            words.append(
                [listening.position, listening.duration].compactMap(\.self).map(TimeText.clock).joined(separator: "/"))
            if listening.played { words.append("played") }
        }
        if let path { words.append(PlainText.oneLine(path)) }
        let line = words.joined(separator: " ")
        return task?.error.map { line + ": " + PlainText.oneLine($0) } ?? line
    }
}
