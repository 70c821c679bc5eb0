import Foundation
import PackagePlugin

/// `swift package deb`: builds podfs and packs it as a Debian package for this machine's distribution and architecture,
/// with its manuals, completions, systemd units and script for mpv.
@main
struct DebianPackage: CommandPlugin {
    func performCommand(context: PluginContext, arguments: [String]) async throws {
        guard arguments.isEmpty else {
            throw PackagingError(description: "unknown arguments: \(arguments.joined(separator: " "))")
        }
        let source = context.package.directoryURL
        let program = try build(source)
        let folder = context.pluginWorkDirectoryURL
        let tree = PackageTree(root: folder.appending(path: "podfs"))
        try tree.create()
        try tree.addProgram(program)
        let version = String(try run([tree.program.path, "--version"]).prefix { !$0.isWhitespace })
        try tree.addManuals(source.appending(path: "man"))
        try tree.addCompletions()
        try run([tree.program.path, "service", "install", "--package", tree.root.path])
        try tree.addPlayerScript()
        let maintainer = try Self.maintainer(of: source)
        let changes = source.appending(path: "Sources/podfs/Documentation.docc/Changelog.md")
        try tree.addDocuments(
            license: source.appending(path: "LICENSE"),
            changelog: PackageTree.changelog(
                try String(contentsOf: changes, encoding: .utf8), version: version, maintainer: maintainer,
                date: try Self.date(of: source)))
        let architecture = try run(["dpkg", "--print-architecture"])
        try tree.addControl(
            version: version, architecture: architecture, maintainer: maintainer,
            dependencies: try tree.dependencies(in: folder))
        let package = folder.appending(path: "podfs_\(version)_\(architecture).deb")
        try run(["dpkg-deb", "--build", "--root-owner-group", "-Zxz", tree.root.path, package.path])
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
            throw PackagingError(description: "podfs could not be built:\n\(result.logText)")
        }
        return program.url
    }

    /// Returns the maintainer: DEBFULLNAME and DEBEMAIL if both are set, otherwise the author of the last commit.
    private static func maintainer(of source: URL) throws -> String {
        let environment = ProcessInfo.processInfo.environment
        if let name = environment["DEBFULLNAME"], let mail = environment["DEBEMAIL"] { return "\(name) <\(mail)>" }
        return try run(["git", "-C", source.path, "log", "-1", "--format=%an <%ae>"])
    }

    /// Returns the date of the changelog's entry: SOURCE_DATE_EPOCH, otherwise that of the last commit. The time of the
    /// build would make the changelog differ between packages of the same commit.
    private static func date(of source: URL) throws -> String {
        if let epoch = ProcessInfo.processInfo.environment["SOURCE_DATE_EPOCH"] {
            return try run(["date", "-R", "-u", "-d", "@\(epoch)"])
        }
        return try run(["git", "-C", source.path, "log", "-1", "--format=%cD"])
    }
}

/// Runs a program and returns its output without surrounding white space; throws if its exit code is not 0.
@discardableResult
func run(_ command: [String], in folder: URL? = nil) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    process.currentDirectoryURL = folder
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
        throw PackagingError(
            description: "\(command.joined(separator: " ")): exit code \(process.terminationStatus)")
    }
    return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
}

struct PackagingError: Error, CustomStringConvertible {
    let description: String
}
