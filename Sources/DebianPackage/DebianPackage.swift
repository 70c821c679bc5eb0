import Foundation
import PackagePlugin

/// `swift package deb`: builds podfs and packs it as a Debian package for this machine's distribution and architecture,
/// with its manuals, completions, systemd units and script for mpv.
@main
struct DebianPackage: CommandPlugin {
    func performCommand(context: PluginContext, arguments: [String]) async throws {
        guard arguments.isEmpty else { throw PackagingError("unknown arguments: \(arguments.joined(separator: " "))") }
        let source = context.package.directoryURL
        let program = try build(source)
        let folder = context.pluginWorkDirectoryURL
        let tree = PackageTree(root: folder.appending(path: "podfs"))
        try tree.create()
        try tree.addProgram(program)
        let version = String(try Shell.output(tree.program.path, "--version").prefix { !$0.isWhitespace })
        try tree.addManuals(source.appending(path: "man"))
        try tree.addCompletions()
        try tree.addUnits()
        try tree.addPlayerScript()
        let maintainer = try Self.maintainer(of: source)
        try tree.addDocuments(
            license: source.appending(path: "LICENSE"),
            changelog: DebianChangelog(
                markdown: try String(
                    contentsOf: source.appending(path: "Sources/podfs/Documentation.docc/Changelog.md"),
                    encoding: .utf8),
                version: version, maintainer: maintainer, date: try Self.date(of: source)))
        let architecture = try Shell.output("dpkg", "--print-architecture")
        try tree.addControl(
            version: version, architecture: architecture, maintainer: maintainer,
            dependencies: try tree.dependencies(in: folder))
        let package = folder.appending(path: "podfs_\(version)_\(architecture).deb")
        try Shell.run("dpkg-deb", "--build", "--root-owner-group", "-Zxz", tree.root.path, package.path)
        print(package.path)
    }

    /// Builds the program with Swift's libraries linked statically, so that the package needs no Swift.
    private func build(_ source: URL) throws -> URL {
        var parameters = PackageManager.BuildParameters(configuration: .release, logging: .concise)
        parameters.echoLogs = true
        parameters.otherSwiftcFlags = ["-static-stdlib"]
        // An assertion of TOMLKit names its file. The program of a release must not depend on the folder of its build.
        if ProcessInfo.processInfo.environment["SOURCE_DATE_EPOCH"] != nil {
            parameters.otherCxxFlags = ["-ffile-prefix-map=\(source.path)=."]
        }
        let result = try packageManager.build(.product("podfs"), parameters: parameters)
        guard result.succeeded, let program = result.builtArtifacts.first(where: { $0.kind == .executable }) else {
            throw PackagingError("podfs could not be built:\n\(result.logText)")
        }
        return program.url
    }

    /// Returns the maintainer: DEBFULLNAME and DEBEMAIL if both are set, otherwise the author of the last commit.
    private static func maintainer(of source: URL) throws -> String {
        let environment = ProcessInfo.processInfo.environment
        if let name = environment["DEBFULLNAME"], let mail = environment["DEBEMAIL"] { return "\(name) <\(mail)>" }
        return try Shell.output("git", "-C", source.path, "log", "-1", "--format=%an <%ae>")
    }

    /// Returns the date of the changelog's entry: SOURCE_DATE_EPOCH, otherwise that of the last commit. The time of the
    /// build would make the changelog differ between packages of the same commit.
    private static func date(of source: URL) throws -> String {
        if let epoch = ProcessInfo.processInfo.environment["SOURCE_DATE_EPOCH"] {
            return try Shell.output("date", "-R", "-u", "-d", "@\(epoch)")
        }
        return try Shell.output("git", "-C", source.path, "log", "-1", "--format=%cD")
    }
}

struct PackagingError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
