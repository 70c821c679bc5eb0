import ArgumentParser
import Glibc
import Platform
import PodcastLibrary
import PodcastPages
import PodcastProtocol
import PodcastService

struct ExportCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Write the subscriptions as OPML, which other podcast programs import.",
        discussion: """
            User names and passwords are left out, and so is the query of the addresses of shows that have them.

            Examples:
              podfs export subscriptions.opml
              podfs export --with-secrets backup.opml
            """)

    @Argument(
        help: ArgumentHelp("The file to write; by default, and for -, standard output.", valueName: "file.opml"),
        completion: .file())
    var file: String?

    @Flag(help: "Include user names and passwords; only the owner can read the file.")
    var withSecrets = false

    @OptionGroup var report: Reporting

    func perform() async throws {
        let installation = try Installation()
        let subscriptions = try installation.library()?.subscriptions() ?? []
        let document =
            withSecrets
            ? SubscriptionsCopy.document(subscriptions, try .reading(installation.paths.credentials))
            : SubscriptionsPage.document(subscriptions)
        guard let file, file != "-" else { return Terminal.write(document, to: 1) }
        var status = stat()
        if stat(file, &status) == 0, status.st_mode & S_IFMT != S_IFREG { return try writeInto(file, document) }
        try AtomicFile.write(document, to: file, mode: withSecrets ? 0o600 : 0o666)
        report.print("\(ReportText.count(subscriptions.count, "show")) exported to \(file)")
    }

    /// Writes to a pipe or a device, which cannot be replaced atomically.
    private func writeInto(_ file: String, _ document: [UInt8]) throws {
        let descriptor = open(file, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CommandError(.failed, "\(file): \(errnoText())") }
        defer { close(descriptor) }
        guard writeAll(document, to: descriptor) else { throw CommandError(.failed, "\(file): \(errnoText())") }
    }
}
