import Foundation
import Glibc

/// A network namespace without a connection to the machine's network. Its loopback interface has additional addresses,
/// which programs inside treat as addresses of the internet or of a local network.
///
/// It lives as long as this object or a process in it. Needs root. The corresponding system call is `unshare`.
package final class NetworkNamespace: Sendable {
    /// Whether the test can create such a namespace: it needs root, and some containers forbid `unshare`.
    package static let isPossible: Bool = {
        guard getuid() == 0 else { return false }
        let probe = try? ChildProcess("unshare", ["--net", "ip", "link", "set", "lo", "up"])
        return (try? probe?.waitBlocking(deadline: .seconds(30)))?.status == .exited(0)
    }()
    package static let requirement = "needs root, ip(8), and a network namespace of its own"

    private let holder: ChildProcess

    /// - Parameter addresses: IPv4 addresses in addition to 127.0.0.0/8.
    package init(addresses: [String]) async throws {
        let added = addresses.map { "ip addr add \($0)/32 dev lo && " }.joined()
        holder = try ChildProcess(
            "unshare", ["--net", "sh", "-c", "ip link set lo up && \(added)echo ready && exec sleep infinity"])
        try await holder.waitForOutput("ready")
    }

    deinit { holder.kill() }

    private var path: String { "/proc/\(holder.processIdentifier)/ns/net" }

    /// Returns the command line that runs `command` inside the namespace. The corresponding program is nsenter(1).
    package func entering(_ command: [String]) -> [String] { ["nsenter", "--net=\(path)", "--"] + command }

    /// Runs `body` on a thread inside. The sockets that it creates stay inside, whichever thread uses them later.
    package func inside(_ body: @escaping @Sendable () throws -> Void) async throws {
        let path = path
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            Thread.detachNewThread {
                done.resume(
                    with: Result {
                        try Self.enter(path)
                        try body()
                    })
            }
        }
    }

    /// Moves the calling thread into the namespace by setns(2), which Swift's Glibc module lacks.
    private static func enter(_ path: String) throws {
        guard let symbol = dlsym(nil, "setns") else { throw SystemCallError("dlsym") }
        let setns = unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32) -> Int32).self)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemCallError("open") }
        defer { close(descriptor) }
        // 0 accepts any kind of namespace.
        guard setns(descriptor, 0) == 0 else { throw SystemCallError("setns") }
    }
}
