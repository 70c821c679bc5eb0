import ArgumentParser

struct DemoCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Try podfs offline: two made-up shows from a built-in server, with a temporary library and cache.",
        discussion: """
            Mounts on DIR, reads the first episode, and runs until Ctrl-C; then it removes everything it made. Your own \
            subscriptions are not affected.

            Example:
              podfs demo
            """)

    @Argument(
        help: ArgumentHelp(
            "The folder to mount on; created if it does not exist. Default: ~/podfs-demo", valueName: "dir"),
        completion: .directory)
    var folder: String?

    @Flag(help: "Exit when the first episode is cached, for scripts.")
    var once = false

    func perform() async throws { try await Demo(folder: folder, once: once).run() }
}
