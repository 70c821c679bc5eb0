internal import CFuse
import Glibc

/// Tells the kernel that what it remembers is no longer true.
///
/// All messages are sent in the order of the calls by one thread that handles no request: such a message waits in the
/// kernel for locks that a process may hold while it waits for an answer, and the thread that ought to give that answer
/// must not be the one that waits. For the same reason a filesystem should not leave lookups unanswered for long.
///
/// Methods may be called from any thread, requests' ones included. They return at once, and take a completion that is
/// called on the invalidator's thread, or by `invalidateAttributesNow` perhaps on the calling one, when the kernel has taken the message, or has said that it did not know the node
/// or name anyway, or the session is over. So a completion is called in each case, with no promise that the filesystem
/// is still mounted. It must not block: further messages wait for it.
package final class Invalidator: Sendable {
    private struct Item: Sendable {
        var message: Message
        var completion: (@Sendable () -> Void)?
    }

    private enum Message: Sendable {
        case attributes(NodeID)
        case data(NodeID)
        case entry(parent: NodeID, name: String)
        case deletion(parent: NodeID, child: NodeID, name: String)
    }

    private struct State {
        var items: [Item] = []
        /// The thread has taken items and is not done with them.
        var isWorking = false
        /// Nothing is sent any more, completions are called nevertheless.
        var isClosed = false
        /// The thread is to end when it has no more items.
        var isReleased = false
    }

    private let state = Monitor(State())
    private let core: SessionCore

    /// The thread keeps the core, not the invalidator: it ends when the invalidator is released.
    init(core: SessionCore) throws(SessionError) {
        self.core = core
        let thread = try Thread(name: "fuse-invalidate") { [state] in Self.work(state, core) }
        thread.detach()
    }

    deinit {
        state.withLock { $0.isReleased = true }
    }

    /// The attributes of a node have changed; the next stat(2) asks. Cached pages stay, but a size that has shrunk cuts
    /// them.
    ///
    /// The corresponding C function is `fuse_lowlevel_notify_inval_inode` with a negative offset.
    package func invalidateAttributes(_ node: NodeID, then completion: (@Sendable () -> Void)? = nil) {
        send(.attributes(node), completion)
    }

    /// The same for an answer that waits for it: on the calling thread when no other message is on its way, as two changes
    /// of threads take longer than the message (60 µs). This one waits in the kernel for no lock: it has no pages to drop.
    package func invalidateAttributesNow(_ node: NodeID, then completion: (@Sendable () -> Void)? = nil) {
        let message = Message.attributes(node)
        guard state.inspect({ $0.items.isEmpty && !$0.isWorking && !$0.isClosed }) else {
            return send(message, completion)
        }
        Self.report(Self.notify(message, core), message)
        completion?()
    }

    /// A name in a folder leads elsewhere now, or has come into being where a negative entry is remembered; the next
    /// use asks.
    ///
    /// The corresponding C function is `fuse_lowlevel_notify_inval_entry`.
    package func invalidateEntry(
        parent: NodeID, name: String, then completion: (@Sendable () -> Void)? = nil
    ) {
        send(.entry(parent: parent, name: name), completion)
    }

    /// A name is gone. Unlike `invalidateEntry` this reaches those who watch the folder by inotify(7), if the name led
    /// to `child`.
    ///
    /// The corresponding C function is `fuse_lowlevel_notify_delete`.
    package func deleteEntry(
        parent: NodeID, child: NodeID, name: String, then completion: (@Sendable () -> Void)? = nil
    ) {
        send(.deletion(parent: parent, child: child, name: name), completion)
    }

    /// The content of a node has changed: attributes and all cached pages are dropped.
    ///
    /// Not while reads of the node are unanswered: each holds the lock of the pages that it is to fill, and the message
    /// waits for these, and with it every later one. A new node id for new content does without it.
    /// The corresponding C function is `fuse_lowlevel_notify_inval_inode` with the whole range.
    package func invalidateData(_ node: NodeID, then completion: (@Sendable () -> Void)? = nil) {
        send(.data(node), completion)
    }

    private func send(_ message: Message, _ completion: (@Sendable () -> Void)?) {
        state.withLock { $0.items.append(Item(message: message, completion: completion)) }
    }

    /// The session is over. True if the thread is at work, perhaps waiting in the kernel for a lock.
    func close() -> Bool {
        state.withLock { state in
            state.isClosed = true
            return state.isWorking
        }
    }

    /// Returns when the completions of all messages so far have been called.
    func drain() {
        state.wait { $0.items.isEmpty && !$0.isWorking ? () : nil }
    }

    private static func work(_ state: Monitor<State>, _ core: SessionCore) {
        while true {
            let items = state.wait { state -> [Item]? in
                if state.items.isEmpty { return state.isReleased ? [] : nil }
                state.isWorking = true
                defer { state.items = [] }
                return state.items
            }
            if items.isEmpty { return }
            for item in items {
                if !state.inspect({ $0.isClosed }) { report(notify(item.message, core), item.message) }
                item.completion?()
            }
            state.withLock { $0.isWorking = false }
        }
    }

    private static func notify(_ message: Message, _ core: SessionCore) -> Int32 {
        switch message {
        case .attributes(let node):
            fuse_lowlevel_notify_inval_inode(core.handle, node.rawValue, -1, 0)
        case .data(let node):
            fuse_lowlevel_notify_inval_inode(core.handle, node.rawValue, 0, 0)
        case .entry(let parent, let name):
            fuse_lowlevel_notify_inval_entry(core.handle, parent.rawValue, name, name.utf8.count)
        case .deletion(let parent, let child, let name):
            fuse_lowlevel_notify_delete(core.handle, parent.rawValue, child.rawValue, name, name.utf8.count)
        }
    }

    private static func report(_ code: Int32, _ message: Message) {
        switch -code {
        case 0: return
        // The kernel does not remember it.
        case ENOENT: return
        // Not yet connected, or no longer: it remembers nothing.
        case ENOSYS, ENOTCONN, ENODEV: return
        // Of a deletion: a folder with remembered names or a mount below stays until these go.
        case ENOTEMPTY, EBUSY: return
        default: FuseLog.say("the kernel refused an invalidation (\(message)): \(describe(-code))")
        }
    }
}
