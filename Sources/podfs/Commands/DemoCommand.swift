import ArgumentParser

struct DemoCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Try podfs without the net: two made-up shows from a server inside, in a home of their own.",
        discussion: """
            Mounts on DIR, plays the reader's part once, and stays until Ctrl-C; then everything it made is gone. Your own \
            subscriptions are not touched.

            Example:
              podfs demo
            """)

    @Argument(
        help: ArgumentHelp("The folder to mount on; made when it is missing. Default: ~/podfs-demo", valueName: "dir"),
        completion: .directory)
    var folder: String?

    @Flag(help: "End after the first episode is cached: for scripts.")
    var once = false

    func perform() async throws { try await Demo(folder: folder, once: once).run() }
}
