import Foundation

/// The form in which mount(8) calls a program for a line of fstab, rather than a person.
///
/// With `mount -t fuse.podfs SOURCE DIR`, mount.fuse3(8) runs `podfs SOURCE DIR -o OPTIONS`. Under the name
/// `mount.fuse.podfs` or `mount.podfs` the program is called by mount(8) itself, with
/// `SOURCE DIR [-sfnvrw] [-o OPTIONS] [-t TYPE]`.
enum MountHelper {
    /// What is called `podfs` here; a source may be anything else, and is shown by `mount` and `df`.
    private static let names: Set<String> = ["mount.podfs", "mount.fuse.podfs"]

    /// The arguments, after the program's name, by which `podfs mount` does what the helper is asked for.
    ///
    /// - Parameters:
    ///   - arguments: all of them, the program's name first.
    ///   - subcommands: the program's own, which no source can be named like.
    /// - Returns: `nil` when this is no such call.
    static func translate(_ arguments: [String], subcommands: Set<String>) -> [String]? {
        guard let program = arguments.first else { return nil }
        let rest = Array(arguments.dropFirst())
        func mount(_ source: String, _ others: some Sequence<String>) -> [String] {
            ["mount", "--source=" + source] + others
        }
        if names.contains(URL(fileURLWithPath: program).lastPathComponent) {
            return mount(rest.first ?? "", rest.dropFirst())
        }
        guard let first = rest.first, !first.hasPrefix("-"), !subcommands.contains(first) else { return nil }
        // Without a source mount.fuse3 names the folder alone.
        if first.hasPrefix("/") { return rest.count > 1 && rest[1] == "-o" ? mount("", rest) : nil }
        // Words that are nothing to podfs are a mistyped command rather than a source, unless options follow.
        guard rest.count > 1, rest[1].hasPrefix("/"), first == "podfs" || rest.count > 2 && rest[2] == "-o" else {
            return nil
        }
        return mount(first, rest.dropFirst())
    }
}
