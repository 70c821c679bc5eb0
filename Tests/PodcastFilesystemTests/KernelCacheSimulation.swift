import Fuse
import PodcastProtocol
import TestSupport
import Transfers

@testable import PodcastFilesystem
@testable import PodcastLibrary

/// A simulation that finds out whether a filesystem with `KernelCache` ever leaves wrong data in the kernel's caches.
///
/// It has a library that changes, a daemon that reports the changes later, programs that look up, list, open and read
/// episodes, a kernel that caches names, attributes and pages by its own rules, and the filesystem. Their steps are
/// interleaved in random order.
struct KernelCacheSimulation {
    /// The relevant fields of a node in the kernel (`struct fuse_inode`).
    struct Inode {
        /// The attributes last sent to the kernel.
        var sent: NodeFacts
        var size: Int64
        var isValid = true
        /// The value of the simulation's `version` at the node's last invalidation, accepted reply or short read.
        /// Replies to earlier requests are discarded.
        var version = 0
        var cached = 0
        var direct = 0
        /// The backing ids of the handles with passthrough.
        var backings: [BackingID] = []

        var isOpen: Bool { cached + direct + backings.count > 0 }
    }

    struct Message {
        var invalidation: Invalidation
        /// The program whose open waits for the invalidation, and the step that follows.
        var waiter: (id: Int, next: Program.Step)?
        /// The size that the filesystem pushes to the kernel by this invalidation; `nil` if it pushes none.
        var size: Int64?
    }

    /// Attributes in a reply that the program's thread has not handled yet.
    struct Reply {
        var facts: NodeFacts
        /// Whether the kernel may cache the attributes.
        var isCached: Bool
        /// The value of the simulation's `version` at the time of the request.
        var asked: Int
    }

    struct Program {
        enum Step {
            case lookingUp
            /// A lookup or a listing has been answered.
            case receivingEntry(Reply)
            /// A folder is being listed; when the program's `row` was read, the last reported change had this number.
            case listing(change: UInt64)
            case opening
            /// The daemon is asked for the size; the library has only this guess.
            case asking(guess: EpisodeSize)
            /// Waits until an invalidation of the node's attributes has been delivered.
            case waiting
            case answering(isInvalidated: Bool)
            case replying(HandleMode.IOMode)
            case checkingSize
            /// The request of an fstat(2) has been answered.
            case receivingSize(Reply)
            case reading(Int64)
            /// The request of a read beyond the cached size has been answered.
            case receivingEnd(Reply, offset: Int64)
            /// The kernel has requested the page at this offset, when the simulation's `version` had this value.
            case loadingPage(Int64, version: Int)
            case closing
        }

        var episode: Int
        var node: NodeNumber
        var step: Step
        var row: EpisodeEntry
        var preference = HandleMode.Preference.cached
        var mode = HandleMode.IOMode.cached
        /// The size with which the file was opened; `nil` if the server reports none.
        var total: Int64?
    }

    var generator: SeededGenerator
    var cache = KernelCache()
    var rows: [EpisodeEntry]
    /// The server's sizes of the current generations; `nil` if it reports none.
    var sizes: [Int64?]
    /// Granted sizes (confirmed by the daemon for an open) that the library has not stored yet.
    var writes: [(episode: Int, generation: Int, size: Int64)] = []
    var events: [(place: Library.EpisodePlace, isRenamed: Bool)] = []
    var now: Int64 = 100
    var inodes: [NodeNumber: Inode] = [:]
    var names: [Int: NodeNumber] = [:]
    /// The kernel's attribute version: incremented by each invalidation, accepted reply and short read of any node.
    var version = 0
    var messages: [Message] = []
    var programs: [Int: Program] = [:]
    var lastProgram = 0
    var lastBacking: Int32 = 0
    var waiting: [NodeNumber: [Int]] = [:]

    var failures: [String] = []
    /// The number of files read from start to end through the page cache.
    var completed = 0
    var modes: [String: Int] = [:]

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        rows = []
        sizes = []
        for id in 1...3 as ClosedRange<Int64> {
            rows.append(
                EpisodeEntry(
                    id: EpisodeID(id), podcast: 1, name: "\(id)", published: 1, changed: 1, size: 4, sizeSource: .feed))
            sizes.append(4)
            renew(Int(id) - 1)
        }
    }

    mutating func random(_ range: Range<Int64>) -> Int64 { Int64.random(in: range, using: &generator) }

    mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &generator) == 0 }

    mutating func renew(_ episode: Int) {
        rows[episode].size = random(1..<9)
        rows[episode].sizeSource = .feed
        rows[episode].complete = false
        sizes[episode] = chance(6) ? nil : random(1..<9)
    }

    mutating func run(steps: Int) {
        for _ in 0..<steps { step() }
        // Run all programs to their end, with every event reported and every message delivered.
        var rest = 10_000
        while rest > 0, !(programs.isEmpty && messages.isEmpty && events.isEmpty && writes.isEmpty) {
            rest -= 1
            if !messages.isEmpty { deliver() }
            if !writes.isEmpty { write() }
            if !events.isEmpty { hear() }
            for id in programs.keys.sorted() { advance(id) }
        }
        if rest == 0 { failures.append("waits for ever: \(programs.values.map(\.step))") }
        for (number, inode) in inodes where inode.isValid {
            guard let row = rows.first(where: { NodeNumber($0) == number }) else { continue }
            let now = facts(of: row)
            if (inode.sent.size, inode.sent.blocks) != (now.size, now.blocks) {
                failures.append("the kernel has cached \(inode.sent), and the library has \(now)")
            }
        }
    }

    mutating func step() {
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<12: begin()
        case 12..<16: change()
        case 16..<22: if !events.isEmpty { hear() }
        case 22..<25: if !writes.isEmpty { write() }
        case 25..<32: if !messages.isEmpty { deliver() }
        // The clock does not advance while a granted size is not stored, because the daemon stores it within the same
        // second.
        case 32: if writes.isEmpty { now += 1 }
        case 33: forget()
        case 34:
            if let number = inodes.keys.sorted(by: { $0.node.rawValue < $1.node.rawValue }).randomElement(
                using: &generator)
            {
                inodes[number]?.isValid = false
            }
        default: if let id = programs.keys.sorted().randomElement(using: &generator) { advance(id) }
        }
    }

    // MARK: The library and the daemon

    func place(_ episode: Int) -> Library.EpisodePlace {
        let row = rows[episode]
        return Library.EpisodePlace(
            id: row.id, podcast: row.podcast, name: row.name, generation: row.generation, isBuried: false)
    }

    mutating func change() {
        let episode = Int.random(in: 0..<rows.count, using: &generator)
        // As in the library, each change sets the row's ctime.
        rows[episode].changed = now
        var isRenamed = false
        switch Int.random(in: 0..<6, using: &generator) {
        case 0:
            rows[episode].generation += 1
            renew(episode)
            isRenamed = true
        case 1 where rows[episode].sizeSource == .server: rows[episode].complete.toggle()
        default: rows[episode].cachedBytes += 512
        }
        events.append((place(episode), isRenamed))
    }

    mutating func write() {
        let (episode, generation, size) = writes.removeFirst()
        guard rows[episode].generation == generation else { return }
        rows[episode].size = size
        rows[episode].sizeSource = .server
        rows[episode].changed = now
        events.append((place(episode), false))
    }

    mutating func hear() {
        let (place, isRenamed) = events.removeFirst()
        let number = NodeNumber(kind: .episode, generation: place.generation, row: place.id)
        let row = cache.grants.isPending(number) ? rows[Int(place.id.rawValue) - 1] : nil
        send(cache.changed(place, row: row, isRenamed: isRenamed))
    }

    mutating func send(_ invalidations: [Invalidation]) {
        messages += invalidations.filter { cache.isEffective($0) }.map { Message(invalidation: $0) }
    }

    // MARK: The filesystem

    mutating func facts(of row: EpisodeEntry) -> NodeFacts {
        let entry = cache.grants.applied(to: row)
        var facts = NodeFacts(NodeNumber(entry), size: entry.size, modified: 1, changed: entry.changed)
        facts.blocks = entry.cachedBytes / 512
        if let accessed = cache.accessTimes[entry.id] { facts.accessed = accessed }
        return facts
    }

    /// Answers a getattr request as the filesystem does.
    mutating func answer(_ number: NodeNumber, total: Int64?) -> Reply {
        let row = rows[Int(number.row) - 1]
        var facts = facts(of: row)
        if row.generation != number.generation { facts.size = total ?? facts.size }
        facts.number = number
        return reply(facts)
    }

    mutating func reply(_ facts: NodeFacts) -> Reply {
        let (sent, isCached) = cache.prepareReply(facts)
        return Reply(facts: sent, isCached: isCached, asked: version)
    }

    mutating func push(_ size: Int64, _ id: Int, _ program: inout Program) {
        switch cache.push(size, of: program.node) {
        case .isKnown: program.step = .answering(isInvalidated: false)
        case .isPending:
            waiting[program.node, default: []].append(id)
            program.step = .waiting
        case .isRequired:
            waiting[program.node, default: []].append(id)
            messages.append(Message(invalidation: .attributes(program.node), size: size))
            program.step = .waiting
        }
    }

    // MARK: The kernel

    mutating func deliver() {
        let message = messages.removeFirst()
        switch message.invalidation {
        case .attributes(let number):
            version += 1
            inodes[number]?.version = version
            inodes[number]?.isValid = false
            if number.kind == .episode { cache.directories.invalidateAttributes() }
            if let size = message.size {
                cache.pushed(size, of: number)
                for id in waiting.removeValue(forKey: number) ?? [] {
                    programs[id]?.step = .answering(isInvalidated: true)
                    advance(id)
                }
                answered(number)
            }
            if let (id, next) = message.waiter { programs[id]?.step = next }
        case .entry(_, let name): if let id = Int(name) { names[id - 1] = nil }
        case .data: break
        }
    }

    /// Applies the attributes of a reply, as fuse_change_attributes does.
    mutating func accept(_ reply: Reply) {
        let facts = reply.facts
        var inode = inodes[facts.number] ?? Inode(sent: facts, size: facts.size)
        guard inode.version <= reply.asked else { return }
        version += 1
        inode.sent = facts
        inode.size = facts.size
        inode.isValid = reply.isCached
        inode.version = version
        inodes[facts.number] = inode
    }

    mutating func forget() {
        let used = Set(programs.values.map(\.node))
        let idle = inodes.filter { !$0.value.isOpen && !used.contains($0.key) }.keys.sorted {
            $0.node.rawValue < $1.node.rawValue
        }
        guard let number = idle.randomElement(using: &generator) else { return }
        inodes[number] = nil
        names = names.filter { $0.value != number }
        cache.forget(number, lookups: 1)
    }
}
