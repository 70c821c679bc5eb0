import Foundation
import Glibc
import Platform

/// The script for mpv that reports positions to podfs.
enum MPVScript {
    /// The start of the first line, by which an installed script is recognized.
    private static let mark = "-- podfs: reports what is listened to"

    /// The path at which the Debian package installs the script for all users.
    private static let system = "/etc/mpv/scripts/podfs.lua"

    /// The source, `podfs.lua`, for mpv's Lua API (mpv(1), LUA SCRIPTING). It starts podfs with an argument list,
    /// without a shell, and with the path after `--`. One process runs at a time, so that the reports arrive in order;
    /// only the last report, when the file is closed, does not wait for a running process.
    static let text = PackageResources.podfs_lua

    /// Writes the script to the user's folder of mpv scripts, unless it is installed for all users.
    ///
    /// - Returns: The path of the installed script.
    static func install() throws -> String {
        // mpv would load both scripts, and report everything twice.
        if FileManager.default.fileExists(atPath: system) { return system }
        let environment = ProcessInfo.processInfo.environment
        let home = environment["HOME"] ?? NSHomeDirectory()
        let folder: String
        if let given = environment["MPV_HOME"], !given.isEmpty {
            folder = given + "/scripts"
        } else if let given = environment["XDG_CONFIG_HOME"], given.hasPrefix("/") {
            folder = given + "/mpv/scripts"
        } else {
            folder = home + "/.config/mpv/scripts"
        }
        let path = folder + "/podfs.lua"
        let isOwn = FileManager.default.contents(atPath: path)?.starts(with: mark.utf8) ?? false
        if !isOwn, FileManager.default.fileExists(atPath: path) {
            throw CommandError(.failed, "\(path) is not podfs's script: move it away first")
        }
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try Data(text).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw CommandError(.failed, "\(path) cannot be written: \(error.localizedDescription)")
        }
        return path
    }
}
