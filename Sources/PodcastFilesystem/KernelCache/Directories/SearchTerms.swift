internal import Platform
internal import PodcastProtocol
internal import Transfers

/// The names looked up in `.search`, and their results.
///
/// Each name has a number, from which its node is derived. The number is computed from the name, so that it is the same
/// after a restart, and stays assigned while the kernel knows the node. If two names collide (among a hundred names,
/// with a probability of 1 in 50), the later gets the next free number. From `capacity` names on, the names are pruned
/// each time after half as many new ones: of all but the most recently used, those that the kernel has forgotten are
/// removed, and the results of the others are dropped, and the caller invalidates these names in the kernel.
struct SearchTerms: Sendable {
    /// The number of names from which on they are pruned to half of it. A thousand names with fifty results each use
    /// 10 MB at most.
    static let capacity = 1_000
    /// The maximum number of names that the kernel may know at once. Lookups of further names fail.
    private let limit: Int
    /// The count of possible numbers. The number of a name is the generation in its `NodeNumber`, which has 18 bits.
    private static let numberCount = 1 << 18

    private struct Term {
        var name: String
        /// The kernel's lookup count of the node.
        var lookups: UInt64 = 0
        /// The value of `uses` at the last use.
        var used = 0
        /// The results; `nil` if the folder was not opened, or if they were dropped.
        var found: [FoundFolder]?
    }

    private var terms: [Int: Term] = [:]
    /// The numbers by the bytes of the name. A `String` cannot be the key: Swift treats the composed and the decomposed
    /// form of a letter as equal, but the kernel does not.
    private var byName: [[UInt8]: Int] = [:]
    /// The number of uses of all names so far.
    private var uses = 0
    /// The number of names at which the next new one prunes.
    private var threshold = capacity

    init(limit: Int = 1 << 13) { self.limit = limit }

    /// Looks up a name, and increments its lookup count.
    ///
    /// - Returns: The name's number, and in `dropped` other names to invalidate; `nil` if the kernel knows too many
    ///   names.
    mutating func lookUp(_ name: String) -> (number: Int, dropped: [String])? {
        uses += 1
        let bytes = Array(name.utf8)
        if let number = byName[bytes] {
            terms[number]?.lookups += 1
            terms[number]?.used = uses
            return (number, [])
        }
        let dropped = terms.count >= threshold ? prune() : []
        guard terms.count < limit else { return nil }
        var number = Self.hash(bytes)
        while terms[number] != nil { number = (number + 1) % Self.numberCount }
        terms[number] = Term(name: name, lookups: 1, used: uses)
        byName[bytes] = number
        return (number, dropped)
    }

    /// Removes or drops all but the most recently used names. Called once for half of `capacity` new names, so that a
    /// name costs the same however many the kernel knows.
    ///
    /// - Returns: The names to invalidate, which the kernel knows. Their numbers stay assigned.
    private mutating func prune() -> [String] {
        var dropped: [String] = []
        for (number, term) in terms.sorted(by: { $0.value.used < $1.value.used }).dropLast(Self.capacity / 2) {
            if term.lookups == 0 {
                terms[number] = nil
                byName[Array(term.name.utf8)] = nil
            } else {
                terms[number]?.found = nil
                dropped.append(term.name)
            }
        }
        threshold = min(limit, max(Self.capacity, terms.count + Self.capacity / 2))
        return dropped
    }

    /// Returns the 32-bit FNV-1a hash, xor-folded to 18 bits as its authors recommend.
    private static func hash(_ bytes: [UInt8]) -> Int {
        let hash = FNV1a.hash32(bytes)
        return Int((hash >> 18 ^ hash) & UInt32(numberCount - 1))
    }

    /// Subtracts from a node's lookup count.
    mutating func forget(_ number: Int, count: UInt64) {
        guard let lookups = terms[number]?.lookups else { return }
        terms[number]?.lookups = lookups - min(count, lookups)
    }

    func name(of number: Int) -> String? { terms[number]?.name }

    /// Returns the results of the last search; `nil` if the folder was not opened, or if they were dropped.
    func found(by number: Int) -> [FoundFolder]? { terms[number]?.found }

    mutating func set(found: [FoundFolder], by number: Int) {
        uses += 1
        terms[number]?.found = found
        terms[number]?.used = uses
    }

    /// Returns the folders of a show among the results of all names.
    func folders(of show: ShowID) -> [NodeNumber] {
        terms.compactMap { number, term in
            guard term.found?.contains(where: { $0.podcast == show }) ?? false else { return nil }
            return NodeNumber(kind: .foundShow, generation: number, row: show)
        }
    }

    var count: Int { terms.count }
}
