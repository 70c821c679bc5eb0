import ArgumentParser
import Platform
import PodcastLibrary
import PodcastProtocol
import Transfers

struct RenameCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename", abstract: "Rename a show's folder or an episode's file.",
        discussion: """
            Names never change by themselves. The extension of an episode cannot be changed.

            With --template, episodes get the names that they would have if they were new: by names.template and \
            names.portable, see podfs.conf(5). Names given by hand are replaced.

            Examples:
              podfs rename 'Example Show' Example
              podfs rename --template --dry-run
            """)

    @Argument(
        help: "A show, or an episode as SHOW/EPISODE or by its path in a mount.", completion: NameCompletion.paths)
    var path: String?

    @Argument(help: "The new name.")
    var name: String?

    @Flag(help: "Rename the episodes of a show, or of all shows, by the template of names.")
    var template = false

    @Flag(help: "With --template: print the changes only.")
    var dryRun = false

    @OptionGroup var report: Reporting

    func validate() throws {
        if dryRun, !template { throw ValidationError("--dry-run is for --template") }
        if template ? name != nil : name == nil {
            throw ValidationError(
                template ? "--template takes a show, or nothing for all shows" : "the new name is missing")
        }
    }

    func perform() async throws {
        let installation = try Installation()
        if template, path == nil, try installation.library() == nil { return }
        let library = try installation.existingLibrary()
        let target = try path.map { try PathResolver(library: library).resolve($0) }
        if template {
            var shows: [ShowID] = []
            switch target {
            case .show(let id)?: shows = [id]
            case .episode?: throw CommandError(.usage, "--template renames all episodes of a show: name the show")
            case nil: break
            }
            let command = Command.renameByTemplate(podcasts: shows, isDryRun: dryRun)
            for change in try await installation.perform(command, \.renamed) {
                Terminal.print("\(PlainText.oneLine(change.former)) -> \(PlainText.oneLine(change.path))")
            }
            return
        }
        guard let name, let target else { return }
        switch target {
        case .show(let id):
            let former = try library.folder(id: id)?.name ?? ""
            try await installation.perform(.rename(podcast: id, episode: nil, name: name)) { _ in () }
            report.print("'\(former)' is now '\(name)'")
        case .episode(let id):
            let former = try library.place(of: id)?.name ?? ""
            let name = try await installation.perform(.rename(podcast: nil, episode: id, name: name), \.text)
            report.print("'\(former)' is now '\(name)'")
        }
    }
}
