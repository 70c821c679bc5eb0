import ArgumentParser
import Platform
import PodcastFeed
import PodcastLibrary
import PodcastProtocol

struct ViewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "view", abstract: "Change, list and remove views: folders of links to the episodes that match.",
        discussion: """
            Keys: unplayed, in_progress, downloaded, pinned (true or false); tag, show (lists with commas); title (a \
            regular expression, ignoring case); type (audio or video); newer_than, older_than, min_duration, \
            max_duration (such as 40m or '7 days'); order (newest, oldest, shortest, longest, recently_played); limit (a \
            number or none; 200 if not set). A show whose name has a comma stands in double quotes. See podfs(1).

            Example:
              podfs view set Commute unplayed=true max_duration=40m order=oldest
              podfs view set News show='"News, Weather", Night Owls' newer_than='2 days'
            """,
        subcommands: [ViewSetCommand.self, ViewListCommand.self, ViewRemoveCommand.self])
}

struct ViewSetCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Create a view, or change conditions of one.",
        discussion: """
            KEY= removes a condition; conditions that are not named stay.

            Example:
              podfs view set Commute unplayed=true max_duration=40m order=oldest
            """)

    @Argument(help: "The view's name, which is its folder in the mount.")
    var name: String

    @Argument(help: ArgumentHelp("What to set.", valueName: "key=value"))
    var assignments: [String] = []

    @OptionGroup var report: Reporting

    func perform() async throws {
        guard !assignments.isEmpty else {
            throw CommandError(.usage, "nothing to set: give KEY=VALUE, such as unplayed=true")
        }
        let installation = try Installation()
        try await installation.perform(.setView(name: name, assignments: assignments)) { _ in () }
        guard let view = try installation.existingLibrary().view(named: name) else { return }
        report.print("\(ViewListCommand.line(view)): \(ReportText.count(view.count, "episode"))")
    }
}

struct ViewListCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the views with their conditions.",
        discussion: """
            Example:
              podfs view list --json
            """)

    @Flag(help: "Print JSON.")
    var json = false

    func perform() async throws {
        let views = try Installation().library()?.viewFolders() ?? []
        if json { return Terminal.print(OrderedJSON.array(views.map(Self.json))) }
        for view in views { Terminal.print(Self.line(view)) }
    }

    /// Returns the name of a view and its conditions as `KEY=VALUE`, quoted for a shell.
    static func line(_ view: ViewFolder) -> String {
        let conditions = view.definition.assignments.map { "\($0.key.rawValue)=\(ShellQuoting.quoted($0.value))" }
        return ([view.name + ":"] + conditions).joined(separator: " ")
    }

    private static func json(_ view: ViewFolder) -> OrderedJSON {
        let conditions = view.definition.assignments.map { ($0.key.rawValue, OrderedJSON.string($0.value)) }
        return .object([
            ("name", .string(view.name)), ("conditions", .object(conditions)),
            ("episodes", .int(Int64(view.count))),
        ])
    }
}

struct ViewRemoveCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a view; no episode is removed.",
        discussion: """
            Example:
              podfs view remove Commute
            """)

    @Argument(help: "The view's name.")
    var name: String

    @OptionGroup var report: Reporting

    func perform() async throws {
        let installation = try Installation()
        let known = try installation.library()?.view(named: name)
        try await installation.perform(.removeView(name: name)) { _ in () }
        report.print("removed the view \(known?.name ?? name); its episodes stay")
    }
}
