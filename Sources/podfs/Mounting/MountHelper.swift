import Foundation

/// The command line with which mount(8) calls podfs for a line of fstab.
///
/// With `mount -t fuse.podfs SOURCE DIR`, mount.fuse3(8) runs `podfs SOURCE DIR -o OPTIONS`. Under the name
/// `mount.fuse.podfs` or `mount.podfs` the program is called by mount(8) itself, with
/// `SOURCE DIR [-sfnvrw] [-o OPTIONS] [-t TYPE]`.
enum MountHelper {
    /// The names under which mount(8) itself calls the program. SOURCE may then be any word; `mount` and `df` show it.
    private static let names: Set<String> = ["mount.podfs", "mount.fuse.podfs"]

    /// Translates a helper's arguments to those of `podfs mount`, without the program's name.
    ///
    /// - Parameters:
    ///   - arguments: All arguments, starting with the program's name.
    ///   - subcommands: The program's subcommands, which cannot be source names.
    /// - Returns: `nil` if this is not a helper call.
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
        // If there is no source, mount.fuse3 passes only the folder.
        if first.hasPrefix("/") { return rest.count > 1 && rest[1] == "-o" ? mount("", rest) : nil }
        // An unknown word is a mistyped command rather than a source, unless it is `podfs` or `-o` follows the folder.
        guard rest.count > 1, rest[1].hasPrefix("/"), first == "podfs" || rest.count > 2 && rest[2] == "-o" else {
            return nil
        }
        return mount(first, rest.dropFirst())
    }
}
