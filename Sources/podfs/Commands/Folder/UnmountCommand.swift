import ArgumentParser
import Foundation
import Fuse
import Glibc
import Platform

struct UnmountCommand: PodfsCommand {
    static let configuration = CommandConfiguration(
        commandName: "unmount",
        abstract: "Unmount a folder.",
        discussion: """
            Reads that wait for the network fail first. If programs still use the folder the command lists them and \
            fails; with --force the folder is detached anyway, also if its process does not answer. Downloads continue.

            Examples:
              podfs unmount ~/Podcasts
              podfs unmount --force ~/Podcasts
            """)

    @Argument(help: ArgumentHelp("The mounted folder.", valueName: "dir"), completion: .directory)
    var folder: String

    @Flag(help: "Detach the folder even if it is in use or does not answer.")
    var force = false

    @OptionGroup var report: Reporting

    func perform() async throws {
        try unmount()
        report.print("unmounted \(folder)")
    }

    private func unmount() throws {
        let path = MountPoint.absolute(folder)
        guard let mounted = MountEntry.at(path) else { throw CommandError(.failed, "\(folder) is not mounted") }
        if let owner = mounted.owner, owner != getuid(), geteuid() != 0 {
            throw CommandError(.failed, "\(folder) is a mount of user \(owner), not yours")
        }
        guard mounted.isPodfs else {
            throw CommandError(
                .failed, "\(folder) is a mount of another program (\(mounted.type)); use umount or fusermount3 -u")
        }
        // `nil` if this user has no access to the mount, or it does not name its own process.
        let process: ProcessHandle?
        switch mounted.answer() {
        case .process(let id): process = mounted.process(id)
        case .refused: process = nil
        // No program can use a dead mount any more.
        case .dead,
            .timeout where force:
            return try Unmount.perform(path, detach: true)
        case .timeout:
            throw CommandError(
                .failed,
                "\(folder) does not answer: its process hangs or is stopped; to detach it: "
                    + "podfs unmount --force \(ShellQuoting.quoted(folder))")
        }
        // This process would keep the mount busy if its own current folder were in the mount.
        chdir("/")
        if try !tryUnmount(path) {
            // The signal makes the mount fail the requests that wait for the network: programs then close their files.
            process?.signal(SIGUSR1)
            try retryUnmount(path, process)
        }
        // It only has to answer its last requests.
        process?.wait()
    }

    /// Unmounts the folder; returns `false` if it is busy.
    private func tryUnmount(_ path: String) throws -> Bool {
        do {
            try Unmount.perform(path, detach: false)
            return true
        } catch {
            guard error.isBusy else { throw error }
            return false
        }
    }

    /// Retries for almost a second, because readers need a moment to close their files. During that time the mount
    /// fails new reads that would have to wait. If the folder is still busy, it is detached if `force` is set;
    /// otherwise the error lists the processes that use it.
    private func retryUnmount(_ path: String, _ process: ProcessHandle?) throws {
        let clock = ContinuousClock()
        let end = clock.now + .milliseconds(900)
        repeat {
            if try tryUnmount(path) { return }
            usleep(20_000)
        } while clock.now < end
        guard force else {
            let holders = Holders.of(path, except: Set([process?.id, getpid()].compactMap(\.self)))
            let names = holders.isEmpty ? "a program" : holders.joined(separator: ", ")
            let remedy = "close it, or: podfs unmount --force \(ShellQuoting.quoted(folder))"
            throw CommandError(.failed, "\(folder) is in use by \(names); \(remedy)")
        }
        try Unmount.perform(path, detach: true)
        process?.signal(SIGTERM)
    }
}

/// The processes that use a mount.
enum Holders {
    /// Returns the names and pids of processes that have a file or folder of the mount open, or whose current or root
    /// folder is in it.
    static func of(_ path: String, except own: Set<pid_t>) -> [String] {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.compactMap { Int32($0) }.filter { !own.contains($0) && uses($0, path) }.sorted().map { pid in
            let name = (try? String(contentsOfFile: "/proc/\(pid)/comm", encoding: .utf8)) ?? ""
            return "\(name.trimmingCharacters(in: .whitespacesAndNewlines)) (\(pid))"
        }
    }

    private static func uses(_ pid: Int32, _ path: String) -> Bool {
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd")) ?? []
        let links = ["cwd", "root"] + descriptors.map { "fd/\($0)" }
        return links.contains { link in
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/\(link)") else {
                return false
            }
            return target == path || target.hasPrefix(path + "/")
        }
    }
}
