import ArgumentParser
import Foundation
import Platform
import PodcastFilesystem
import PodcastLibrary
import PodcastPages
import PodcastProtocol
import Transfers

struct PublishCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish", abstract: "Publish an episode on a server, in the background.",
        discussion: """
            Posts title, description and image to the address (multipart/form-data, fields title, description and thumbnail), \
            then sends the file to the address in the response (303 or 201 with a Location), by tus 1.0 if the server supports \
            it, otherwise by PUT. The file is copied first and may then be changed or removed. Prints the task's name, \
            upload:ID, for suspend, resume and cancel.

            Examples:
              podfs publish talk.mp4 --to https://example.com/videos --title 'My talk' --image talk.jpg
              podfs suspend upload:7
            """)

    @Argument(help: ArgumentHelp("The audio or video file.", valueName: "file"))
    var file: String

    @Option(
        name: .customLong("to"),
        help: ArgumentHelp("The http or https address of the server's list of videos.", valueName: "url"))
    var url: String

    @Option(help: "The episode's title.")
    var title: String

    @Option(help: "The episode's description.")
    var description: String?

    @Option(
        help: ArgumentHelp("A JPEG, PNG, GIF, WebP, AVIF, HEIC, BMP or SVG picture for the episode.", valueName: "file")
    )
    var image: String?

    @Flag(help: "Wait until the upload has finished or failed; interrupting the command does not affect it.")
    var wait = false

    @Flag(help: "Print the task as JSON, in the format of podfs status --json.")
    var json = false

    /// The maximum number of characters of a title. A title is one line, which many servers store in a database column.
    private static let longestTitle = 1_000

    func validate() throws {
        if PlainText.oneLine(title).allSatisfy(\.isWhitespace) { throw ValidationError("--title must not be empty") }
        if title.count > Self.longestTitle {
            throw ValidationError(
                "--title can have at most \(Self.longestTitle) characters; --description may be longer")
        }
        if file.isEmpty { throw ValidationError("name a file") }
    }

    func perform() async throws {
        let installation = try Installation()
        if let problem = WebAddress.problem(with: url) {
            throw CommandError(.usage, "podfs cannot publish to '\(WebAddress.redacted(url))': it \(problem)")
        }
        // Start the daemon, which creates the folders. If that fails, the command ends before it copies the file.
        try installation.daemon().close()
        let uploads = installation.paths.uploads
        let media = try FileSnapshot.make(of: file, in: uploads)
        let picture = try image.map { try FileSnapshot.make(of: $0, in: uploads) }
        let request = PublishRequest(
            url: url, title: PlainText.oneLine(title), description: description, media: Self.part(media, of: file),
            image: picture.flatMap { picture in image.map { Self.part(picture, of: $0) } })
        // If the daemon exits before it answers, the next one gets the request. A repeated request starts no second
        // upload, because it names the same snapshot.
        let task = try await installation.follow { try await $0.perform(.publish(request), \.task) }
        media.handOver()
        picture?.handOver()
        guard wait else { return show(task) }
        if !json { show(task) }
        show(try await waitForEnd(of: task, installation))
    }

    /// Returns what the request says about a snapshot, the copy of `file`: the copy's name, and the name and media type
    /// of the original.
    private static func part(_ snapshot: FileSnapshot, of file: String) -> SnapshotFile {
        let original = URL(fileURLWithPath: file)
        let suffix = original.pathExtension.lowercased()
        let type = imageTypes[suffix] ?? MediaType.mimeType(forExtension: suffix)
        return SnapshotFile(file: snapshot.name, name: original.lastPathComponent, type: type)
    }

    private static let imageTypes = [
        "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp",
        "avif": "image/avif", "heic": "image/heic", "bmp": "image/bmp", "svg": "image/svg+xml",
    ]

    private func show(_ task: TaskInfo) {
        if json {
            for task in StatusReport([task]).tasks { Terminal.print(task.json) }
        } else if task.state == .completed {
            Terminal.print("published \(PlainText.oneLine(task.path))")
        } else {
            Terminal.print("upload:\(task.id) \(PlainText.oneLine(task.path))")
        }
    }

    /// Waits for the end of an upload, also across restarts of the daemon, and returns the completed task. Throws
    /// `CommandError` if the upload has failed or was cancelled.
    private func waitForEnd(of task: TaskInfo, _ installation: Installation) async throws -> TaskInfo {
        var reported: String?
        // Reports why the upload is retried. Without this, the command would seem to hang if a server is down or the
        // URL is wrong.
        func report(_ error: String?) {
            guard let error, error != reported else { return }
            reported = error
            Terminal.error(
                "upload:\(task.id) \(task.path): \(error); podfs retries it in the background, see podfs status")
        }
        return try await installation.follow(
            begin: { daemon in
                let present = try await daemon.perform(.tasks, \.tasks).first { $0.id == task.id }
                guard let present, present.state != .failed else {
                    let stored = try await daemon.perform(.events(since: 0), \.events)
                    return try result(of: task, stored.last { $0.task?.id == task.id && $0.endsTask })
                }
                report(present.error)
                return nil
            },
            next: { event, _ in
                guard let change = event.task, change.id == task.id else { return nil }
                if event.endsTask { return try result(of: task, event) }
                report(change.error)
                return nil
            })
    }

    /// - Parameter event: The task's last event; an upload without one was cancelled.
    private func result(of task: TaskInfo, _ event: Event?) throws -> TaskInfo {
        switch event?.body {
        case .completed(let task): return task
        case .failed(let task):
            throw CommandError(
                .failed,
                "upload:\(task.id) \(task.path): \(task.error ?? "failed"); to retry it: podfs resume upload:\(task.id); "
                    + "to remove it: podfs cancel upload:\(task.id)")
        default: throw CommandError(.failed, "upload:\(task.id) \(task.path): it was cancelled")
        }
    }
}
