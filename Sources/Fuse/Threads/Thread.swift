internal import CFuse
internal import CLinux
import Glibc
internal import Platform

/// A POSIX thread. Unlike a thread of Swift's cooperative pool, it may block.
struct Thread {
    /// The thread's identifier, valid until `join` has returned, or until the thread has exited after `detach`.
    let identifier: pthread_t

    /// Starts `body` on a new thread that receives no signals except those in `signals`.
    ///
    /// The closure is passed in an object that is retained here, and released by the new thread, or here if no thread
    /// could be created.
    init(name: String, signals: [Int32] = [], _ body: @escaping @Sendable () -> Void) throws(SessionError) {
        let box = Unmanaged.passRetained(Start(name: name, body: body))
        // A new thread inherits the signal mask of its creator.
        var blocked = sigset_t()
        var before = sigset_t()
        sigfillset(&blocked)
        for signal in signals { sigdelset(&blocked, signal) }
        pthread_sigmask(SIG_SETMASK, &blocked, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var identifier = pthread_t()
        let code = pthread_create(&identifier, nil, Self.main, box.toOpaque())
        guard code == 0 else {
            box.release()
            throw SessionError(.thread, "cannot start a thread: \(errnoText(code))")
        }
        self.identifier = identifier
    }

    private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { argument in
        guard let argument else { return nil }
        let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        clinux_set_thread_name(start.name)
        start.body()
        return nil
    }

    func join() {
        pthread_join(identifier, nil)
    }

    func detach() {
        pthread_detach(identifier)
    }

    func kill(_ signal: Int32) {
        pthread_kill(identifier, signal)
    }

    private final class Start {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}
