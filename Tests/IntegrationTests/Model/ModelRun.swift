import Foundation
import Glibc
import Synchronization
import TestSupport

/// The length and the seed of a model run. The variables `PODFS_MODEL_OPERATIONS` and `PODFS_MODEL_SEED` override the
/// values of the test.
struct ModelSettings: Sendable {
    var operations: Int
    var seed: UInt64

    init(operations: Int, seed: UInt64 = 1) {
        let environment = ProcessInfo.processInfo.environment
        self.operations = environment["PODFS_MODEL_OPERATIONS"].flatMap { Int($0) } ?? operations
        self.seed = environment["PODFS_MODEL_SEED"].flatMap { UInt64($0) } ?? seed
    }
}

/// A difference between the model and the subject.
struct ModelDifference: Error, CustomStringConvertible {
    let description: String
}

/// Drives a mount and its model with the same random operations, and compares their results.
///
/// Predictable values are compared exactly. The daemon sends its events only after a change, so the subject may return
/// the previous value for a while. Once it has returned the expected value, it must return it until the next change.
struct ModelRun {
    struct OpenEpisode {
        var file: Int32
        var episode: Int64
        var path: [String]
        /// The possible generations of its rendition.
        var generation: ClosedRange<Int>
        /// The rendition's content.
        var content: TestContent
        /// The tag in front of the content, for a file in `Tagged`.
        var tag: ModelTag?
        /// Whether the open file has a lease, a lock on the cache file, which prevents an eviction. Without a lease the
        /// daemon may count the episode as open, and then refuses too.
        var hasLease: Bool

        var size: Int { tag?.fileSize ?? content.size }
    }

    struct OpenFolder {
        var folder: Int32
        var path: [String]
        /// The possible listings, each with `.` and `..` first. A show's folder may have several: the names at the open
        /// and at each read from offset 0. The mount returns newer names only after it has received an event.
        var names: [[ModelName]]
        /// The offsets returned so far, by the index of the entry to which they lead.
        var offsets: [Int: Int64] = [0: 0]
        var isFresh = true
    }

    let subject: ModelMount
    var publication: ModelPublication
    var tree: ModelTree
    let digests: ModelDigests
    let settings: ModelSettings
    var generator: SeededGenerator
    var files: [OpenEpisode] = []
    var folders: [OpenFolder] = []
    /// The number of changing operations so far.
    var changes = 1
    /// The value of `changes` at the last comparison without a difference, by the name of the compared aspect.
    var agreed: [String: Int] = [:]
    var number = 0
    var log: [String] = []
    private(set) var counts: [String: Int] = [:]
    /// The limit of the cache, in bytes.
    let cacheLimit: Int64
    var isDaemonAlive = true

    init(
        _ subject: ModelMount, server: HTTPTestServer, settings: ModelSettings, started: ClosedRange<Int64>,
        cacheLimit: Int64
    ) {
        self.subject = subject
        self.settings = settings
        self.cacheLimit = cacheLimit
        publication = ModelPublication(server: server)
        generator = SeededGenerator(seed: settings.seed)
        let digests = ModelDigests()
        self.digests = digests
        tree = ModelTree(
            library: ModelLibrary(), started: started, url: { server.url($0) }, digest: { digests.digest(of: $0) })
    }

    /// The seconds since 1970 according to time(2), which is up to a few milliseconds slow.
    static var now: Int64 { Int64(time(nil)) }

    /// Returns the times that podfs may have recorded since `began`, an earlier value of `now`. It uses time(2) and the
    /// exact clock, which may already be in the next second.
    static func period(since began: Int64) -> ClosedRange<Int64> { began...Int64(Date().timeIntervalSince1970) }

    var library: ModelLibrary {
        get { tree.library }
        set { tree.library = newValue }
    }

    // MARK: The run

    /// Performs all operations; throws the first difference.
    mutating func perform() async throws {
        for _ in 0..<3 { try await addShow() }
        try await sweep()
        while number < settings.operations {
            number += 1
            let operation = ModelOperation.random(using: &generator)
            counts[operation.rawValue, default: 0] += 1
            do {
                try await perform(operation)
            } catch let difference as ModelDifference {
                try? await closeAll()
                throw difference
            } catch {
                try? await closeAll()
                throw difference("no failure", "\(error)")
            }
        }
        try await settle()
        try await sweep()
        try await closeAll()
    }

    var summary: String {
        let parts = counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        return "seed \(settings.seed), \(number) operations without a difference: " + parts.joined(separator: ", ")
    }

    mutating func note(_ text: String) {
        log.append("\(number) \(text)")
        if log.count > 2_000 { log.removeFirst(1_000) }
    }

    /// - Parameter name: The name of the file that differs. Earlier operations with this name are listed too.
    func difference(_ expected: String, _ found: String, about name: String? = nil) -> ModelDifference {
        // The name of a generated file such as `.status` is not useful, so the name of an episode that occurs in
        // `expected` or `found` is used instead.
        let text = expected + found
        let named = library.episodes.first { text.contains($0.name) }?.name
        let name =
            name.flatMap {
                $0.hasPrefix(".") || !$0.contains(" ") ? nil : $0
            } ?? named
        let earlier = log.dropLast(20).filter { line in name.map { line.contains($0) } ?? false }.suffix(20)
        let operations = (earlier + log.suffix(20)).joined(separator: "\n  ")
        return ModelDifference(
            description: """
                model differs: seed \(settings.seed), operation \(number)
                the last operations:
                  \(operations)
                expected: \(expected)
                found: \(found)
                """)
    }

    /// Records a change, after which the subject may return previous values for a while.
    mutating func changed() { changes += 1 }

    /// The maximum time for the daemon to notify all clients. It only prevents hangs, and measures nothing.
    static var patience: Duration { .seconds(30) }

    /// Compares an aspect, and throws a difference. As long as the aspect may still have its value from before the last
    /// change, repeats the comparison for at most `patience`.
    ///
    /// - Parameter judge: Returns a difference as expected and found text; `nil` if there is none.
    mutating func compare(
        _ aspect: String, _ judge: (inout ModelRun) async throws -> (expected: String, found: String)?
    ) async throws {
        let wasSettled = agreed[aspect] == changes && !library.episodes.contains { $0.phase == .moving }
        let end = ContinuousClock.now.advanced(by: Self.patience)
        while true {
            guard let wrong = try await judge(&self) else { break }
            if wasSettled || ContinuousClock.now >= end {
                let manner = wasSettled ? "at once" : "in the end"
                let name = aspect.split(separator: "/").last.map(String.init)
                throw difference("\(aspect): \(wrong.expected) (\(manner))", wrong.found, about: name)
            }
            try await Task.sleep(for: .milliseconds(2))
        }
        agreed[aspect] = changes
    }

    // MARK: Random choices

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percent }

    mutating func pick<Value>(_ values: [Value]) -> Value? { values.randomElement(using: &generator) }

    mutating func some<Value>(_ count: Int, of values: [Value]) -> [Value] {
        Array(values.shuffled(using: &generator).prefix(count))
    }

    /// Returns a random path of the tree, folder or file.
    ///
    /// Waits for all transfers before it returns a link in a view of downloaded episodes: an episode whose download
    /// completes could remove the link from a view with a limit, or change the number in its name.
    mutating func anyPath() async throws -> [String] {
        var path = chance(10) ? ["Tagged"] : []
        while true {
            if hasDownloads(path) { try await settle() }
            guard let names = tree.names(in: path), !names.isEmpty else { return path }
            if !path.isEmpty, chance(12) { return path }
            guard let name = pick(names) else { return path }
            path.append(name.name)
            if name.kind != .folder { return path }
        }
    }

    mutating func anyEpisode(_ condition: (ModelEpisode) -> Bool = { _ in true }) -> (ModelEpisode, [String])? {
        let all = library.shows.flatMap { show in show.episodes.map { ($0, [show.name, $0.name]) } }
        return pick(all.filter { condition($0.0) })
    }

    /// Returns a random episode by one of its paths: in the show's folder, or in `Tagged`.
    mutating func anyEpisodeFile() -> (ModelEpisode, [String])? {
        guard let (episode, path) = anyEpisode() else { return nil }
        return (episode, chance(25) ? ["Tagged"] + path : path)
    }
}

/// A cache of content digests, which sha256sum(1) computes.
final class ModelDigests: Sendable {
    private let known = Mutex<[TestContent: String]>([:])

    func digest(of content: TestContent) -> String? {
        if let digest = known.withLock({ $0[content] }) { return digest }
        guard let folder = try? TemporaryDirectory(), let path = try? folder.write("content", content.bytes),
            let result = try? ChildProcess("sha256sum", [path]).waitBlocking()
        else { return nil }
        let digest = String(result.output.prefix(64))
        known.withLock { $0[content] = digest }
        return digest
    }
}

/// The kinds of operations, with their frequencies.
enum ModelOperation: String, CaseIterable {
    case lookup
    case oddLookup = "odd lookup"
    case list
    case listPart = "partial listing"
    case closeFolder = "releasedir"
    case read
    case readWhole = "whole read"
    case open
    case close
    case attributes = "getxattr"
    case readlink
    case control = "setxattr"
    case badControl = "bad setxattr"
    case statistics = "statfs"
    case edit = "feed edit"
    case refresh
    case settle
    case sweep = "whole tree"
    case evict
    case rename
    case subscription
    case view
    case tag
    case killDaemon = "kill of the daemon"
    case remount

    /// The relative frequency. The sum of all is about 1,000.
    private var weight: Int {
        switch self {
        case .lookup: 180
        case .oddLookup: 70
        case .list: 60
        case .listPart: 110
        case .closeFolder: 20
        case .read: 160
        case .readWhole: 30
        case .open: 60
        case .close: 45
        case .attributes: 90
        case .readlink: 30
        case .control: 30
        case .badControl: 25
        case .statistics: 10
        case .edit: 14
        case .refresh: 8
        case .settle: 4
        case .sweep: 1
        case .evict: 10
        case .rename: 1
        case .subscription: 1
        case .view: 6
        case .tag: 4
        case .killDaemon: 1
        case .remount: 1
        }
    }

    private static let total = allCases.reduce(0) { $0 + $1.weight }

    static func random(using generator: inout some RandomNumberGenerator) -> ModelOperation {
        var rest = Int.random(in: 0..<total, using: &generator)
        for operation in allCases {
            rest -= operation.weight
            if rest < 0 { return operation }
        }
        return .lookup
    }
}
