import ArgumentParser
import Glibc
import PodcastFeed
import PodcastPages
import PodcastProtocol
import PodcastService

struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Synchronize subscriptions and playback positions with other devices.",
        discussion: """
            Needs a server with the gPodder API (gpodder.net, oPodSync and others) or a Nextcloud with the app \
            GPodder Sync. AntennaPod, Kasts, gPodder and others use the same servers. After a login it runs by itself; see \
            podfs-sync(7).

            Examples:
              podfs sync login https://cloud.example.com --user anna
              podfs sync
              podfs sync status
            """,
        subcommands: [SyncNowCommand.self, SyncLoginCommand.self, SyncStatusCommand.self, SyncLogoutCommand.self],
        defaultSubcommand: SyncNowCommand.self)
}

struct SyncNowCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Synchronize now and wait for the result.",
        discussion: """
            The first run fetches the feeds of all shows and shows its progress on a terminal. Ctrl-C stops it, and the next \
            run continues with the rest.

            Examples:
              podfs sync
              podfs sync run --now
            """)

    @Flag(help: "Run even if the server has asked to wait.")
    var now = false

    func perform() async throws {
        let line = ProgressLine()
        let daemon = try Installation().daemon(onEvent: FetchProgress(line).apply)
        defer { daemon.close() }
        try await Self.run(daemon, line, despiteHold: now)
    }

    /// Synchronizes, showing the progress of it, and prints the result.
    static func run(_ daemon: DaemonConnection, _ line: ProgressLine, despiteHold: Bool) async throws {
        defer { line.finish() }
        if line.isShown { _ = try await daemon.perform(.watch) }
        line.show("contacting the server")
        let status = try await daemon.perform(.syncNow(despiteHold: despiteHold), \.sync)
        line.finish()
        Terminal.print(SyncStatusCommand.summary(status))
    }
}

struct SyncLoginCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Set the server and the account.",
        discussion: """
            The password is read from the terminal, from standard input with --password-stdin, or from ~/.netrc. It is stored \
            in a file that only you can read, and sent to this server only. For a Nextcloud create an app password \
            (Settings, Security).

            Examples:
              podfs sync login https://cloud.example.com --user anna
              pass show podcasts | podfs sync login https://gpodder.net --user anna --password-stdin
            """)

    @Argument(help: ArgumentHelp("The server's address.", valueName: "url"))
    var url: String

    @Option(help: ArgumentHelp("The account's user name.", valueName: "name"))
    var user: String?

    @Option(
        help: ArgumentHelp(
            "This device's name on the server; by default derived from the host name.", valueName: "name"))
    var device: String?

    @Option(
        help: ArgumentHelp(
            "The server's API: gpodder or nextcloud; by default it is detected.", valueName: "kind"))
    var kind: String?

    @Flag(help: "Read the password from standard input.")
    var passwordStdin = false

    @Flag(name: .customLong("allow-http"), help: "Send the password unencrypted, over a network that you trust.")
    var allowHTTP = false

    func perform() async throws {
        let installation = try Installation()
        let line = ProgressLine()
        let daemon = try installation.daemon(onEvent: FetchProgress(line).apply)
        defer { daemon.close() }
        var request = SyncLoginRequest(
            url: url, user: user, password: "", device: device, kind: kind, allowsHTTP: allowHTTP)
        if passwordStdin {
            request.password = try Self.passwordOnStandardInput()
        } else if let found = Netrc().entry(forAddress: url, user: user) {
            request.user = found.login
            request.password = found.password
        } else {
            guard let user = user ?? Netrc.user(inAddress: url) else {
                throw CommandError(.usage, "whose account is it? Give --user NAME")
            }
            request.password = try Self.ask("Password of \(user): ")
        }
        let status = try await daemon.perform(.syncLogin(request), \.sync)
        Terminal.print("logged in to \(status.server ?? url) as \(status.user ?? ""), device \(status.device ?? "")")
        try await SyncNowCommand.run(daemon, line, despiteHold: true)
    }

    /// Reads the password from the first line of standard input.
    private static func passwordOnStandardInput() throws -> String {
        guard let line = readLine(), !line.isEmpty else {
            throw CommandError(.usage, "--password-stdin: there is no password on standard input")
        }
        guard line.utf8.count <= 4_096 else { throw CommandError(.usage, "the input is longer than 4096 bytes") }
        return line
    }

    /// Reads the password from the terminal, which does not show it. See getpass(3).
    private static func ask(_ question: String) throws -> String {
        // Without a terminal, getpass would read standard input.
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else {
            throw CommandError(
                .usage, "there is no terminal to ask on: give the password with --password-stdin or in ~/.netrc")
        }
        close(terminal)
        guard let answer = getpass(question).map({ String(cString: $0) }), !answer.isEmpty else {
            throw CommandError(.usage, "the input is empty")
        }
        return answer
    }
}

struct SyncStatusCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show the server, the last synchronization, and the changes not sent yet.",
        discussion: """
            Example:
              podfs sync status --json
            """)

    @Flag(help: "Print JSON.")
    var json = false

    func perform() async throws {
        let status = try await Installation().perform(.syncStatus, \.sync)
        if json { Terminal.print(Self.document(status)) } else { Terminal.print(Self.text(status)) }
    }

    static func text(_ status: SyncStatus) -> String {
        guard let server = status.server else { return "no sync server: podfs sync login URL" }
        var lines = ["\(status.user ?? "")@\(server) (\(status.kind ?? "")), device \(status.device ?? "")"]
        lines.append(status.lastSync.map { "last sync \(TimeText.iso8601($0))" } ?? "not synced yet")
        if let next = status.nextSync, status.state != .running { lines.append("next sync \(TimeText.iso8601(next))") }
        lines.append(summary(status))
        if let error = status.error {
            lines.append(status.state == .stopped ? "stopped: \(error)" : "the last synchronization failed: \(error)")
        }
        return lines.joined(separator: "\n")
    }

    /// Returns a line with the number of unsent changes, and the number of positions for unknown episodes.
    static func summary(_ status: SyncStatus) -> String {
        let (waiting, parked) = (status.waitingSubscriptions + status.waitingActions, status.parkedActions)
        let unsent = waiting == 0 ? "all changes are sent" : "\(ReportText.are(waiting, "change")) not sent yet"
        return unsent + (parked == 0 ? "" : "; \(ReportText.are(parked, "position")) for unknown episodes")
    }

    static func document(_ status: SyncStatus) -> OrderedJSON {
        .object([
            ("device", .string(orNull: status.device)), ("error", .string(orNull: status.error)),
            ("kind", .string(orNull: status.kind)),
            ("last_sync", .string(orNull: status.lastSync.map(TimeText.iso8601))),
            ("next_sync", .string(orNull: status.nextSync.map(TimeText.iso8601))),
            ("parked_actions", .int(orNull: status.parkedActions)),
            ("server", .string(orNull: status.server)), ("state", .string(status.state.rawValue)),
            ("user", .string(orNull: status.user)), ("waiting_actions", .int(orNull: status.waitingActions)),
            ("waiting_subscriptions", .int(orNull: status.waitingSubscriptions)),
        ])
    }
}

struct SyncLogoutCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "Delete the server and the password; subscriptions and positions stay.",
        discussion: """
            Example:
              podfs sync logout
            """)

    func perform() async throws {
        try await Installation().perform(.syncLogout) { _ in () }
        Terminal.print("logged out")
    }
}
