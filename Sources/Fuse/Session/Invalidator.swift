internal import CFuse
internal import Dispatch
internal import Platform
import Synchronization

/// The queue of cache invalidations to the kernel.
///
/// One thread, which handles no request, sends all messages in the order of the calls; an urgent message is the only
/// exception. In the kernel, a message waits for locks that a process may hold while it waits for a reply. If the
/// thread that has to send this reply sent the message, it would wait forever. A process that waits for the reply to a
/// lookup holds such a lock, so a filesystem should not leave lookups unanswered for long.
///
/// Methods may be called from any thread, including those that handle requests. They return without waiting for the
/// kernel, unless the message is urgent. The completion is always called, even if the kernel does not know the node or
/// name, or the session is over. So a completion does not imply that the filesystem is still mounted. Completions run
/// on the invalidator's thread; that of an urgent message may run on the calling thread. A completion must not block,
/// since further messages wait for it.
package final class Invalidator: Sendable {
    /// The cache to invalidate.
    package enum Message: Sendable, Hashable {
        /// The attributes of a node; the next stat(2) requests them. Cached pages stay; if the new size is smaller, the
        /// kernel drops the pages beyond it when it gets the new attributes.
        ///
        /// The corresponding C function is `fuse_lowlevel_notify_inval_inode` with a negative offset.
        case attributes(NodeID)
        /// The content of a node: the attributes and all cached pages.
        ///
        /// Must not be sent while reads of the node are unanswered: each read holds the lock of the pages that it
        /// fills. The message waits for these locks, and every later message waits for it. Use a new node id for new
        /// content instead.
        /// The corresponding C function is `fuse_lowlevel_notify_inval_inode` with the whole range.
        case data(NodeID)
        /// A name in a folder, including a cached negative entry; the next use of the name sends a lookup.
        ///
        /// The corresponding C function is `fuse_lowlevel_notify_inval_entry`.
        case entry(parent: NodeID, name: String)
    }

    fileprivate typealias Item = (message: Message, completion: (@Sendable () -> Void)?)

    fileprivate struct State {
        var items: [Item] = []
        /// Whether the thread is processing items.
        var isWorking = false
        /// Whether sending has stopped; completions are still called.
        var hasStopped = false
        /// Whether the thread must exit when the queue is empty.
        var isReleased = false
    }

    /// The messages to send. The thread retains the queue and the core, not the invalidator.
    fileprivate final class Queue: Sendable {
        let state = Mutex(State())
        /// Signaled after each change of the state that the thread has to handle.
        let change = DispatchSemaphore(value: 0)
        let core: SessionCore

        init(core: SessionCore) { self.core = core }
    }

    private let queue: Queue

    /// Starts the thread, which exits when the invalidator is released.
    init(core: SessionCore) {
        queue = Queue(core: core)
        startThread("fuse-invalidate") { [queue] in queue.work() }
    }

    deinit {
        queue.state.withLock { $0.isReleased = true }
        queue.change.signal()
    }

    /// Sends a message to the kernel.
    ///
    /// - Parameter isUrgent: Whether a reply waits for the message; only for attributes. The message is then sent on
    ///   the calling thread if no other message is queued or in progress. Through the invalidator's thread it takes 60
    ///   to 90 µs, most of it for two thread switches. The message waits for no lock in the kernel, because it drops
    ///   no pages.
    package func send(_ message: Message, isUrgent: Bool = false, then completion: (@Sendable () -> Void)? = nil) {
        if isUrgent, queue.state.withLock({ $0.items.isEmpty && !$0.isWorking && !$0.hasStopped }) {
            queue.notify(message)
            completion?()
            return
        }
        queue.state.withLock { $0.items.append((message, completion)) }
        queue.change.signal()
    }

    /// Stops sending at the end of the session. Returns true if the thread is busy, possibly waiting in the kernel for
    /// a lock.
    func stopSending() -> Bool {
        queue.state.withLock { state in
            state.hasStopped = true
            return state.isWorking
        }
    }

    /// Waits until the completions of all messages so far have been called.
    func drain() {
        let isDrained = DispatchSemaphore(value: 0)
        send(.attributes(.none)) { isDrained.signal() }
        isDrained.wait()
    }
}

extension Invalidator.Queue {
    func work() {
        while true {
            change.wait()
            let (items, isReleased) = state.withLock { state in
                defer { state.items = [] }
                state.isWorking = !state.items.isEmpty
                return (state.items, state.isReleased)
            }
            for (message, completion) in items {
                if !state.withLock({ $0.hasStopped }) { notify(message) }
                completion?()
            }
            state.withLock { $0.isWorking = false }
            if items.isEmpty, isReleased { return }
        }
    }

    /// Sends a message to the kernel.
    func notify(_ message: Invalidator.Message) {
        let code =
            switch message {
            case .attributes(let node): fuse_lowlevel_notify_inval_inode(core.handle, node.rawValue, -1, 0)
            case .data(let node): fuse_lowlevel_notify_inval_inode(core.handle, node.rawValue, 0, 0)
            case .entry(let parent, let name):
                fuse_lowlevel_notify_inval_entry(core.handle, parent.rawValue, name, name.utf8.count)
            }
        switch -code {
        case 0: return
        // The kernel has cached nothing for this node or name.
        case ENOENT: return
        // The session is not connected yet, or no longer. The kernel has cached nothing.
        case ENOSYS, ENOTCONN, ENODEV: return
        default: FuseLog.log("the kernel rejected an invalidation (\(message)): \(errnoText(-code))")
        }
    }
}
