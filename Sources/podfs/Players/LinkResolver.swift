import CLinux
import Foundation
import Glibc
import Platform
import PodcastFilesystem
import PodcastProtocol

extension PlayerWatch.Options {
    /// Returns the options for a mount on `folder`, with the session bus of this process's environment.
    static func system(folder: String, resumes: Bool) -> PlayerWatch.Options {
        PlayerWatch.Options(
            folder: folder, address: { SessionBus.address(ProcessInfo.processInfo.environment) }, resumes: resumes,
            resolve: { LinkResolver.resolve($0, below: folder) })
    }
}

/// Resolution of symbolic links in a child process, which is abandoned if a disk does not respond.
enum LinkResolver {
    /// The maximum time for the child to answer.
    private static let timeout = Duration.seconds(2)

    /// Returns the components below `folder` of the file that `path` leads to; `nil` if that is not below `folder`, or
    /// if the child does not answer in time. Blocks for at most `timeout`.
    static func resolve(_ path: String, below folder: String) -> [String]? {
        var ends: [Int32] = [-1, -1]
        guard clinux_pipe(&ends, O_CLOEXEC | O_NONBLOCK) == 0 else { return nil }
        defer { close(ends[0]) }
        var spawner = ProcessSpawner(
            "/proc/self/exe", ["podfs", "player", "locate", "--", path, folder],
            environment: ProcessInfo.processInfo.environment)
        spawner.inheritedDescriptors = [ends[1]]
        let child = try? spawner.start()
        close(ends[1])
        guard let child else { return nil }
        let answer = read(ends[0], until: SystemClock.monotonic.now + timeout)
        // If a disk blocks the child, even SIGKILL takes effect only when the disk responds, so this thread does not
        // wait for the exit.
        kill(child, SIGKILL)
        reapInBackground(child)
        guard let answer else { return nil }
        return FileURL.components(answer).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Reads until the end of the pipe; `nil` after the deadline, on an error, or if the text is too long.
    private static func read(_ descriptor: Int32, until deadline: Instant) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count <= FileURL.longest {
            let rest = (deadline - SystemClock.monotonic.now).milliseconds
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard rest > 0, poll(&waiting, 1, Int32(clamping: rest)) > 0 else { return nil }
            var buffer = [UInt8](repeating: 0, count: 4_096)
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count == 0 { return bytes }
            if count < 0, errno != EINTR, errno != EAGAIN { return nil }
            if count > 0 { bytes += buffer[..<count] }
        }
        return nil
    }

    /// Resolves the path and writes the components to the pipe; called in the child.
    static func answer(_ path: String, below folder: String) {
        let table = SystemFile.contents("/proc/self/mountinfo") ?? ""
        let links = LinkedPath(mountInfo: table) { path in
            withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX), alignment: 1) { buffer in
                guard let base = buffer.baseAddress else { return nil }
                let count = readlink(path, base, buffer.count)
                return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
            }
        }
        let names = links.components(of: path, below: folder) ?? []
        Terminal.write(names.joined(separator: "/"), to: SpawnedSelf.readyDescriptor)
    }
}
