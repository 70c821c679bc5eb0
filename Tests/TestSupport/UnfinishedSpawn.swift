import Foundation
import Glibc

/// A process that has been created but has not yet executed its program. Until then it has copies of all descriptors of
/// the test, including those that are close-on-exec.
package final class UnfinishedSpawn: Sendable {
    private let folder: TemporaryDirectory
    private let exit: Task<Int32, Never>

    /// Creates the process, and returns once it exists.
    package init() async throws {
        let folder = try TemporaryDirectory()
        self.folder = folder
        let pipes = ["created", "finish"].map { folder.file($0) }
        for pipe in pipes {
            guard mkfifo(pipe, 0o600) == 0 else { throw SystemCallError("mkfifo") }
        }
        exit = Task { await Self.spawn(opening: pipes) }
        try await waitUntil(description: "the process has been created") {
            // open(2) fails with ENXIO until the process opens the pipe for reading.
            let writer = open(pipes[0], O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            close(writer)
            return writer >= 0
        }
    }

    /// Lets the process execute its program, and returns its wait status: 0 if all went well.
    package func finish() async -> Int32 {
        let writer = open(folder.file("finish"), O_WRONLY | O_CLOEXEC)
        close(writer)
        return await exit.value
    }

    /// Runs true(1) in a new process, and returns its wait status. Before that, the process opens the named pipes in
    /// turn, and each open waits until the pipe has a writer.
    private static func spawn(opening pipes: [String]) async -> Int32 {
        await withCheckedContinuation { continuation in
            // posix_spawn suspends its thread until the program is executed.
            Thread.detachNewThread {
                var actions = posix_spawn_file_actions_t()
                posix_spawn_file_actions_init(&actions)
                defer { posix_spawn_file_actions_destroy(&actions) }
                for pipe in pipes { posix_spawn_file_actions_addopen(&actions, 0, pipe, O_RDONLY, 0) }
                let program = strdup("true")
                defer { free(program) }
                var child: pid_t = 0
                var status: Int32 = -1
                if posix_spawnp(&child, "true", &actions, nil, [program, nil], environ) == 0 {
                    waitpid(child, &status, 0)
                }
                continuation.resume(returning: status)
            }
        }
    }
}
