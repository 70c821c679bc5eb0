import Foundation
import Glibc
import PodcastFilesystem
import PodcastLibrary
import PodcastProtocol
import Synchronization
import SystemPackage
import TestSupport

@testable import Fuse

/// A `PodcastFilesystem` with a real daemon. The tests of the reference model send it requests in place of a kernel.
///
/// `ModelKernel` simulates the kernel as far as the model depends on it: it caches names and attributes until their
/// timeout or an invalidation. A read ends at the cached size.
final class ModelFilesystem: ModelSubject {
    struct File: Sendable {
        var node: NodeID
        var handle: Fuse.FileHandle
        var isDirect: Bool
    }

    struct Folder: Sendable {
        var node: NodeID
        var handle: Fuse.FileHandle
    }

    let home: PodfsHome
    let owner: UInt32 = 1_000
    let readsAhead = false
    static let cacheLimit: Int64 = 4 << 30
    private let paths: InstallationPaths
    private let launcher: DaemonLauncher
    private let kernel = ModelKernel()
    private let current: Mutex<PodcastFilesystem>
    private let nextRequest = Atomic<UInt64>(2)

    init() async throws {
        home = try PodfsHome()
        guard let paths = InstallationPaths(environment: home.environment) else { throw ModelErrno(EINVAL) }
        self.paths = paths
        // The script sets the daemon's environment, which would otherwise be that of the test.
        let exports = home.environment.map { "export \($0.key)='\($0.value)'" }.joined(separator: "\n")
        let program = try home.directory.writeProgram(
            "podfs", text: "#!/bin/sh\n\(exports)\nexec '\(PodfsHome.executable)' \"$@\"\n")
        launcher = DaemonLauncher(paths: paths, schema: Library.schemaVersion, executable: program)
        try launcher.connectOrStart(role: .command).close()
        current = Mutex(try Self.filesystem(paths, launcher, owner))
        filesystem.start(notifier: kernel, startsDaemon: true)
    }

    private var filesystem: PodcastFilesystem { current.withLock { $0 } }

    private static func filesystem(
        _ paths: InstallationPaths, _ launcher: DaemonLauncher, _ owner: UInt32
    ) throws -> PodcastFilesystem {
        var options = PodcastFilesystem.Options(
            owner: Owner(uid: owner, gid: owner), cache: FilePath(paths.cache), cacheLimit: cacheLimit,
            feeds: FilePath(paths.feeds), assets: FilePath(paths.assets), indexers: [])
        options.hasTagged = true
        return PodcastFilesystem(
            library: try Library.openForReading(at: paths.library), options: options,
            link: DaemonLink(launcher: launcher))
    }

    // MARK: Requests

    private func ask(_ operation: (consuming Request) -> Void) async throws -> RecordedAnswer {
        let reply = RecordedReply()
        operation(reply.request(id: nextRequest.wrappingAdd(2, ordering: .relaxed).newValue, uid: owner, gid: owner))
        let answer = try await reply.answered()
        if case .error(let error) = answer { throw ModelErrno(error.rawValue) }
        return answer
    }

    private struct Misfit: Error { var answer: RecordedAnswer }

    /// Looks up a path and calls `body` with its node. If either fails with ESTALE, repeats both once, as the kernel
    /// does.
    private func trying<Value>(
        _ path: [String], _ body: (NodeID, FileKind) async throws -> Value
    ) async throws -> Value {
        do {
            let (node, kind) = try await walk(path)
            return try await body(node, kind)
        } catch let error as ModelErrno {
            guard error.code == ESTALE else { throw error }
            kernel.forgetAll()
            let (node, kind) = try await walk(path)
            return try await body(node, kind)
        }
    }

    private func walk(_ path: [String]) async throws -> (NodeID, FileKind) {
        var place = (node: NodeID.root, kind: FileKind.directory)
        for name in path {
            guard place.kind == .directory else { throw ModelErrno(ENOTDIR) }
            guard name.utf8.count <= 255 else { throw ModelErrno(ENAMETOOLONG) }
            if let known = kernel.entry(place.node, name) {
                place = known
                continue
            }
            let moment = kernel.moment
            let answer = try await ask { filesystem.lookup($0, parent: place.node, name: name) }
            guard case .entry(let entry) = answer else { throw Misfit(answer: answer) }
            kernel.keep(entry, place.node, name, askedAt: moment)
            place = (entry.node, entry.attributes.kind)
        }
        return place
    }

    private func attributes(_ node: NodeID, _ handle: Fuse.FileHandle? = nil) async throws -> Attributes {
        if let known = kernel.attributes(node) { return known }
        let moment = kernel.moment
        let answer = try await ask { filesystem.getattr($0, node: node, handle: handle) }
        guard case .attributes(let attributes, let timeout) = answer else { throw Misfit(answer: answer) }
        kernel.keep(attributes, node, timeout: timeout, askedAt: moment)
        return attributes
    }

    // MARK: Nodes

    func status(_ path: [String]) async throws -> ModelStatus {
        try await trying(path) { node, _ in Self.status(try await attributes(node)) }
    }

    func status(of file: File) async throws -> ModelStatus { Self.status(try await attributes(file.node, file.handle)) }

    private static func status(_ attributes: Attributes) -> ModelStatus {
        ModelStatus(
            inode: attributes.inode, kind: kind(attributes.kind), permissions: UInt32(attributes.permissions),
            links: attributes.links, size: attributes.size, blocks: attributes.blocks,
            modified: attributes.modified, changed: attributes.changed, uid: attributes.uid)
    }

    private static func kind(_ kind: FileKind) -> ModelNode.Kind {
        switch kind {
        case .directory: .folder
        case .regular: .file
        case .symlink: .link
        }
    }

    func target(_ path: [String]) async throws -> String {
        try await trying(path) { node, kind in
            // The kernel sends readlink for symbolic links only.
            guard kind == .symlink else { throw ModelErrno(EINVAL) }
            let answer = try await ask { filesystem.readlink($0, node: node) }
            guard case .link(let target) = answer else { throw Misfit(answer: answer) }
            return target
        }
    }

    func statistics() async throws -> ModelStatistics {
        let answer = try await ask { filesystem.statfs($0, node: .root) }
        guard case .statistics(let found) = answer else { throw Misfit(answer: answer) }
        return ModelStatistics(blocks: Int64(found.blocks), free: Int64(found.freeBlocks), longestName: Int64(NAME_MAX))
    }

    // MARK: Files

    func open(_ path: [String]) async throws -> File {
        try await trying(path) { node, _ in
            let answer = try await ask { filesystem.open($0, node: node, flags: O_RDONLY) }
            guard case .open(let open) = answer else { throw Misfit(answer: answer) }
            return File(node: node, handle: open.handle, isDirect: open.directIO)
        }
    }

    func read(_ file: File, offset: Int64, count: Int) async throws -> [UInt8] {
        var count = count
        if !file.isDirect {
            let size = try await attributes(file.node, file.handle).size
            count = Int(min(Int64(count), size - offset))
            if count <= 0 { return [] }
        }
        let answer = try await ask {
            filesystem.read($0, node: file.node, handle: file.handle, offset: offset, size: count)
        }
        guard case .bytes(let bytes) = answer else { throw Misfit(answer: answer) }
        return bytes
    }

    func close(_ file: File) async throws {
        _ = try await ask { filesystem.release($0, node: file.node, handle: file.handle) }
    }

    // MARK: Folders

    func openFolder(_ path: [String]) async throws -> Folder {
        try await trying(path) { node, kind in
            guard kind == .directory else { throw ModelErrno(ENOTDIR) }
            let answer = try await ask { filesystem.opendir($0, node: node) }
            guard case .open(let open) = answer else { throw Misfit(answer: answer) }
            return Folder(node: node, handle: open.handle)
        }
    }

    func closeFolder(_ folder: Folder) async throws {
        _ = try await ask { filesystem.releasedir($0, node: folder.node, handle: folder.handle) }
    }

    func list(_ folder: Folder, from offset: Int64, size: Int, plus: Bool) async throws -> [ModelListed] {
        let page = DirectoryPage(handle: folder.handle, offset: UInt64(offset), size: size, withAttributes: plus)
        let answer = try await ask { filesystem.readdir($0, node: folder.node, page: page) }
        guard let entries = answer.listing else { throw Misfit(answer: answer) }
        return try entries.map { entry in
            guard let kind = entry.kind else { throw ModelErrno(EIO) }
            return ModelListed(
                entry: ModelName(name: entry.name, inode: entry.inode, kind: Self.kind(kind)),
                next: Int64(entry.nextOffset), size: entry.size)
        }
    }

    // MARK: Extended attributes

    func attribute(_ name: String, _ path: [String]) async throws -> String {
        try await trying(path) { node, _ in
            let answer = try await ask { filesystem.getxattr($0, node: node, name: name, capacity: 65_536) }
            guard case .bytes(let bytes) = answer else { throw Misfit(answer: answer) }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    func attributeNames(_ path: [String]) async throws -> [String] {
        try await trying(path) { node, _ in
            let answer = try await ask { filesystem.listxattr($0, node: node, capacity: 65_536) }
            guard case .bytes(let bytes) = answer else { throw Misfit(answer: answer) }
            return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    func setAttribute(_ name: String, _ value: String, _ path: [String]) async throws {
        try await trying(path) { node, _ in
            _ = try await ask { request in
                // As in a request of the kernel, the bytes are valid during the call only.
                let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: value.utf8.count, alignment: 1)
                defer { bytes.deallocate() }
                bytes.copyBytes(from: value.utf8)
                filesystem.setxattr(request, node: node, name: name, value: UnsafeRawBufferPointer(bytes), flags: 0)
            }
        }
    }

    // MARK: Changes

    /// The filesystem has no operation for modifications, because the module `Fuse` itself rejects them.
    func modify(_ modification: ModelModification, _ path: [String]) async throws -> ModelErrno? { nil }

    // MARK: The mount

    func remount() async throws {
        filesystem.stop()
        kernel.forgetAll()
        let next = try Self.filesystem(paths, launcher, owner)
        current.withLock { $0 = next }
        next.start(notifier: kernel, startsDaemon: true)
    }

    func end() async throws { filesystem.stop() }
}

/// A model of the kernel's entry and attribute caches, with their timeouts.
private final class ModelKernel: ChangeNotifier {
    private struct Key: Hashable {
        var parent: NodeID
        var name: [UInt8]
    }

    private struct State {
        var entries: [Key: (node: NodeID, kind: FileKind, until: ContinuousClock.Instant)] = [:]
        var attributes: [NodeID: (attributes: Attributes, until: ContinuousClock.Instant)] = [:]
        /// The number of invalidations so far. An answer is not cached if this number has changed since its request.
        var moment = 0
    }

    private let state = Mutex(State())

    var moment: Int { state.withLock { $0.moment } }

    func entry(_ parent: NodeID, _ name: String) -> (NodeID, FileKind)? {
        state.withLock { state in
            guard let known = state.entries[Key(parent: parent, name: Array(name.utf8))],
                known.until > ContinuousClock.now
            else { return nil }
            return (known.node, known.kind)
        }
    }

    func attributes(_ node: NodeID) -> Attributes? {
        state.withLock { state in
            guard let known = state.attributes[node], known.until > ContinuousClock.now else { return nil }
            return known.attributes
        }
    }

    func keep(_ entry: Entry, _ parent: NodeID, _ name: String, askedAt moment: Int) {
        let now = ContinuousClock.now
        state.withLock { state in
            guard state.moment == moment else { return }
            state.entries[Key(parent: parent, name: Array(name.utf8))] = (
                entry.node, entry.attributes.kind, now + .seconds(entry.entryTimeout)
            )
            state.attributes[entry.node] = (entry.attributes, now + .seconds(entry.attributeTimeout))
        }
    }

    func keep(_ attributes: Attributes, _ node: NodeID, timeout: Double, askedAt moment: Int) {
        let until = ContinuousClock.now + .seconds(timeout)
        state.withLock { state in
            guard state.moment == moment else { return }
            state.attributes[node] = (attributes, until)
        }
    }

    func forgetAll() {
        state.withLock { state in
            state.entries = [:]
            state.attributes = [:]
            state.moment += 1
        }
    }

    func send(_ message: Invalidator.Message, isUrgent: Bool, then completion: (@Sendable () -> Void)?) {
        state.withLock { state in
            switch message {
            // The model caches no data.
            case .attributes(let node), .data(let node): state.attributes[node] = nil
            case .entry(let parent, let name): state.entries[Key(parent: parent, name: Array(name.utf8))] = nil
            }
            state.moment += 1
        }
        completion?()
    }
}
