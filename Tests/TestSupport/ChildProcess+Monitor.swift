import CLinux
import Foundation
import Glibc
import Synchronization

/// The reader of a child's output, which also reaps the child. `run` is called on a thread of its own.
final class ProcessMonitor: Sendable {
    struct Output: Sendable {
        var standardOutput: [UInt8] = []
        var standardError: [UInt8] = []
    }

    private struct State {
        var output = Output()
        var status: ChildProcess.Status?
        var isFinished = false
    }

    private let child: pid_t
    /// A pidfd of the child (pidfd_open(2)). It becomes readable when the child exits.
    private let descriptor: Int32
    private let pipes: [Pipe]
    private let state = Mutex(State())
    private let finished = DispatchGroup()

    init(_ child: pid_t, _ standardOutput: Pipe, _ standardError: Pipe) throws {
        self.child = child
        descriptor = clinux_pidfd_open(child)
        guard descriptor >= 0 else {
            let error = SystemCallError("pidfd_open")
            Glibc.kill(child, SIGKILL)
            waitpid(child, nil, 0)
            throw error
        }
        pipes = [standardOutput, standardError]
        for pipe in pipes { _ = fcntl(pipe.readEnd, F_SETFL, O_NONBLOCK) }
        finished.enter()
    }

    deinit { close(descriptor) }

    var output: Output { state.withLock { $0.output } }

    /// The result, once the child has exited and its output has been read.
    var result: ChildProcess.Result? {
        state.withLock { state in
            guard state.isFinished, let status = state.status else { return nil }
            return ChildProcess.Result(
                status: status, standardOutput: state.output.standardOutput,
                standardError: state.output.standardError)
        }
    }

    func waitBlocking(_ deadline: Duration) -> ChildProcess.Result? {
        _ = finished.wait(timeout: .now() + deadline / .seconds(1))
        return result
    }

    /// Sends a signal to the child. Has no effect after the child was reaped, because its process id may be reused.
    func signal(_ signal: Int32) {
        state.withLock {
            if $0.status == nil { Glibc.kill(child, signal) }
        }
    }

    func run() {
        defer {
            state.withLock { $0.isFinished = true }
            finished.leave()
        }
        var isOpen = [true, true]
        while true {
            // poll(2) ignores negative descriptors.
            var polled =
                pipes.indices.map { pollfd(fd: isOpen[$0] ? pipes[$0].readEnd : -1, events: Int16(POLLIN), revents: 0) }
                + [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
            guard poll(&polled, 3, -1) > 0 else { continue }
            let hasEnded = polled[2].revents != 0
            if hasEnded { reap() }
            for index in pipes.indices where isOpen[index] { isOpen[index] = drain(index) }
            // Do not wait for later output of a grandchild, which may keep the pipes open for long.
            if hasEnded { return }
        }
    }

    private func reap() {
        state.withLock { state in
            var raw: Int32 = 0
            guard waitpid(child, &raw, WNOHANG) == child else { return }
            // The macros WIFSIGNALED and WEXITSTATUS, which Swift does not import.
            let signal = raw & 0x7F
            state.status = signal == 0 ? .exited((raw >> 8) & 0xFF) : .signalled(signal)
        }
    }

    /// Reads the available bytes. Returns `false` at the end of the stream or after an error.
    private func drain(_ index: Int) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(pipes[index].readEnd, &buffer, buffer.count)
            if count == 0 { return false }
            if count < 0 {
                if errno == EINTR { continue }
                return errno == EAGAIN
            }
            state.withLock {
                if index == 0 {
                    $0.output.standardOutput += buffer[..<count]
                } else {
                    $0.output.standardError += buffer[..<count]
                }
            }
        }
    }
}
