import Foundation

/// The files of the package, below the folder `root`, which represents `/`.
struct PackageTree {
    let root: URL

    var program: URL { root.appending(path: "usr/bin/podfs") }

    /// Creates an empty tree.
    func create() throws {
        if FileManager.default.fileExists(atPath: root.path) { try FileManager.default.removeItem(at: root) }
        try folder("DEBIAN")
    }

    /// Adds the program, and the link by which mount(8) finds it. The program is stripped of its symbols and of the
    /// library search path that the build sets (RUNPATH).
    func addProgram(_ built: URL) throws {
        try folder("usr/bin")
        try run(["install", "-m", "755", built.path, program.path])
        try run(["strip", program.path])
        try replaceHashes()
        try run(["chrpath", "-d", program.path])
        try link("usr/sbin/mount.podfs", to: "../bin/podfs")
    }

    /// Replaces the hashes that depend on the folder of the build: the compiler's hash of each module becomes zeros,
    /// and the build id, which includes the symbols, the hash of the stripped program.
    private func replaceHashes() throws {
        func replace(_ section: String, from offset: Int, with value: Data? = nil) throws {
            let file = root.appending(path: "DEBIAN/section")
            try run(["objcopy", "--dump-section", "\(section)=\(file.path)", program.path])
            var bytes = try Data(contentsOf: file)
            bytes.replaceSubrange(offset..., with: value ?? Data(count: bytes.count - offset))
            try bytes.write(to: file)
            // Removing a section instead would also remove the program's RELRO segment.
            try run(["objcopy", "--update-section", "\(section)=\(file.path)", program.path])
            try FileManager.default.removeItem(at: file)
        }
        try replace(".swift_modhash", from: 0)
        // The note's header and name have 16 bytes, and SHA-1 has 20 (ld(1), --build-id).
        try replace(".note.gnu.build-id", from: 16)
        let digest = try run(["sha1sum", program.path])
        let id = stride(from: 0, to: 40, by: 2).compactMap { UInt8(digest.dropFirst($0).prefix(2), radix: 16) }
        try replace(".note.gnu.build-id", from: 16, with: Data(id))
    }

    /// Adds the compressed manuals, and mount.podfs(8) as a link to podfs(1).
    func addManuals(_ source: URL) throws {
        for page in try FileManager.default.contentsOfDirectory(at: source, includingPropertiesForKeys: nil) {
            let path = "usr/share/man/man\(page.pathExtension)/\(page.lastPathComponent)"
            try write(try Data(contentsOf: page), to: path)
            try compress(path)
        }
        try link("usr/share/man/man8/mount.podfs.8.gz", to: "../man1/podfs.1.gz")
    }

    func addCompletions() throws {
        let paths = [
            ("bash", "usr/share/bash-completion/completions/podfs"), ("zsh", "usr/share/zsh/vendor-completions/_podfs"),
            ("fish", "usr/share/fish/vendor_completions.d/podfs.fish"),
        ]
        for (shell, path) in paths {
            let script = try run([program.path, "--generate-completion-script", shell])
            // Shells source these scripts, so remove the line that names an interpreter.
            let lines = script.split(separator: "\n", omittingEmptySubsequences: false).drop { $0.hasPrefix("#!") }
            try write(Data((lines.joined(separator: "\n") + "\n").utf8), to: path)
        }
    }

    /// Adds the script for mpv, which loads the scripts in `/etc/mpv/scripts` for all users.
    func addPlayerScript() throws {
        let path = "usr/share/podfs/mpv/podfs.lua"
        try write(Data((try run([program.path, "player", "mpv"]) + "\n").utf8), to: path)
        // A link from one top-level directory into another is absolute (Debian Policy, section 10.5).
        try link("etc/mpv/scripts/podfs.lua", to: "/\(path)")
    }

    /// Adds the license, which names the holder of the copyright (Debian Policy, section 12.5), and the changelog.
    func addDocuments(license: URL, changelog: String) throws {
        try write(try Data(contentsOf: license), to: "usr/share/doc/podfs/copyright")
        try write(Data(changelog.utf8), to: "usr/share/doc/podfs/changelog")
        try compress("usr/share/doc/podfs/changelog")
    }

    /// Returns a changelog in Debian's format (Debian Policy, section 4.4).
    ///
    /// - Parameters:
    ///   - markdown: The project's changelog: a second-level heading for each version, followed by a list of changes.
    ///   - version: The version of the package. The result has one entry: the changes of this version, or the line
    ///     "Release VERSION." if the changelog lists none.
    ///   - maintainer: `NAME <ADDRESS>`.
    ///   - date: The date in the format of RFC 5322.
    static func changelog(_ markdown: String, version: String, maintainer: String, date: String) -> String {
        var changes: [[Substring]] = []
        var isInSection = false
        for line in markdown.replacing("**", with: "").split(separator: "\n") {
            if line.hasPrefix("## ") {
                isInSection = line.dropFirst(3).split(separator: " ").first.map { $0 == version } ?? false
            } else if isInSection, line.hasPrefix("- ") {
                changes.append(line.dropFirst(2).split(separator: " "))
            } else if isInSection, line.hasPrefix("  "), !changes.isEmpty {
                changes[changes.count - 1] += line.split(separator: " ")
            }
        }
        if changes.isEmpty { changes = [["Release", "\(version)."]] }
        // A list item for each change, wrapped at 79 columns.
        let items = changes.map { words in
            words.reduce(into: ["  *"]) { lines, word in
                if lines[lines.count - 1].count + 1 + word.count > 79 { lines.append("   ") }
                lines[lines.count - 1] += " \(word)"
            }.joined(separator: "\n")
        }
        return """
            podfs (\(version)) unstable; urgency=medium

            \(items.joined(separator: "\n"))

             -- \(maintainer)  \(date)

            """
    }

    /// Returns the packages of the libraries that the program is linked to, with their minimum versions: the value of
    /// `Depends` without fuse3, which contains the program fusermount3.
    ///
    /// - Parameter folder: The folder for the files that dpkg-shlibdeps needs.
    func dependencies(in folder: URL) throws -> String {
        // dpkg-shlibdeps expects a source package around the program.
        try FileManager.default.createDirectory(
            at: folder.appending(path: "debian"), withIntermediateDirectories: true)
        try Data("Source: podfs\n\nPackage: podfs\nArchitecture: any\n".utf8)
            .write(to: folder.appending(path: "debian/control"))
        let found = try run(["dpkg-shlibdeps", "-O", program.path], in: folder)
        return found.replacing("shlibs:Depends=", with: "")
    }

    /// Writes the files `control` and `md5sums`, and sets the modes of all files.
    func addControl(version: String, architecture: String, maintainer: String, dependencies: String) throws {
        let size = try run(["du", "-k", "-s", "--apparent-size", root.path]).prefix { $0.isNumber }
        let control = """
            Package: podfs
            Version: \(version)
            Architecture: \(architecture)
            Maintainer: \(maintainer)
            Installed-Size: \(size)
            Depends: fuse3, \(dependencies)
            Section: net
            Priority: optional
            Description: podcasts as files
             Subscribed shows are folders, episodes are files, and any player opens them.
             The first read of an episode starts its download, and is served while the
             bytes arrive. A background daemon runs the download; it continues when the
             player or the mount is killed, and resumes after a crash.

            """
        let files = try run(["find", "usr", "-type", "f"], in: root).split(separator: "\n").sorted()
        let digests = try run(["md5sum"] + files.map(String.init), in: root)
        try write(Data(control.utf8), to: "DEBIAN/control")
        try write(Data("\(digests)\n".utf8), to: "DEBIAN/md5sums")
        try run(["chmod", "-R", "u=rwX,go=rX", root.path])
    }

    // MARK: Files

    private func folder(_ path: String) throws {
        try FileManager.default.createDirectory(
            at: root.appending(path: path), withIntermediateDirectories: true)
    }

    private func write(_ data: Data, to path: String) throws {
        try folder((path as NSString).deletingLastPathComponent)
        try data.write(to: root.appending(path: path))
    }

    private func link(_ path: String, to target: String) throws {
        try folder((path as NSString).deletingLastPathComponent)
        try FileManager.default.createSymbolicLink(
            atPath: root.appending(path: path).path, withDestinationPath: target)
    }

    private func compress(_ path: String) throws { try run(["gzip", "-9n", root.appending(path: path).path]) }
}
