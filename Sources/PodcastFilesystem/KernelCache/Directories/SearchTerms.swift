internal import Platform
internal import PodcastProtocol
internal import Transfers

/// The names looked up in `.search` or in `.find`, and the results of each: the folders of shows, or the ids of
/// episodes.
///
/// Each name has a number, from which its node is derived. The number is computed from the name, so that it is the same
/// after a restart, and stays assigned while the kernel knows the node. If two names collide (among a hundred names,
/// with a probability of 1 in 50), the later gets the next free number. A name is removed once the kernel has forgotten
/// it and it has no results. After `capacity` new names, and then each time after half as many, the results of all but
/// the most recently used names are removed, and the caller invalidates these names in the kernel, so that it forgets
/// them.
struct SearchTerms<Result: Sendable>: Sendable {
    /// The maximum number of names with results. A thousand names with fifty results each use 10 MB at most.
    static var capacity: Int { 1_000 }
    /// The maximum number of names that the kernel may know at once. Lookups of further names fail.
    private let limit: Int
    /// The count of possible numbers. The number of a name is the generation in its `NodeNumber`, which has 18 bits.
    private static var numberCount: Int { 1 << 18 }

    private struct Term {
        var name: String
        /// The kernel's lookup count of the node.
        var lookups: UInt64 = 0
        /// The value of `uses` at the last use.
        var used = 0
        /// The results; `nil` if the folder was not opened, or not recently.
        var found: [Result]?
    }

    private var terms: [Int: Term] = [:]
    /// The numbers by the bytes of the name. A `String` cannot be the key: Swift treats the composed and the decomposed
    /// form of a letter as equal, but the kernel does not.
    private var byName: [[UInt8]: Int] = [:]
    /// The number of uses of all names so far.
    private var uses = 0
    /// The number of new names before the next one prunes.
    private var untilPrune = Self.capacity

    init(limit: Int = 1 << 13) { self.limit = limit }

    /// Looks up a name, and increments its lookup count.
    ///
    /// - Returns: The name's number, or `nil` if the kernel knows too many names; and in `dropped` other names to
    ///   invalidate.
    mutating func lookUp(_ name: String) -> (number: Int?, dropped: [String]) {
        uses += 1
        let bytes = Array(name.utf8)
        if let number = byName[bytes] {
            terms[number]?.lookups += 1
            terms[number]?.used = uses
            return (number, [])
        }
        let dropped = untilPrune == 0 ? prune() : []
        untilPrune -= 1
        guard terms.count < limit else { return (nil, dropped) }
        var number = Self.hash(bytes)
        while terms[number] != nil { number = (number + 1) % Self.numberCount }
        terms[number] = Term(name: name, lookups: 1, used: uses)
        byName[bytes] = number
        return (number, dropped)
    }

    /// Removes the results of all but the most recently used names. Called once for half of `capacity` new names, so
    /// that a name costs the same however many the kernel knows.
    ///
    /// - Returns: Those of these names that the kernel knows, to invalidate.
    private mutating func prune() -> [String] {
        untilPrune = Self.capacity / 2
        let old = terms.sorted { $0.value.used < $1.value.used }.dropLast(untilPrune)
        for (number, term) in old {
            terms[number]?.found = nil
            if term.lookups == 0 { remove(number) }
        }
        return old.filter { $0.value.lookups > 0 }.map(\.value.name)
    }

    private mutating func remove(_ number: Int) {
        guard let term = terms.removeValue(forKey: number) else { return }
        byName[Array(term.name.utf8)] = nil
    }

    /// Returns the 32-bit FNV-1a hash, xor-folded to 18 bits as its authors recommend.
    private static func hash(_ bytes: [UInt8]) -> Int {
        let hash = FNV1a.hash32(bytes)
        return Int((hash >> 18 ^ hash) & UInt32(numberCount - 1))
    }

    /// Subtracts from a node's lookup count.
    mutating func forget(_ number: Int, count: UInt64) {
        guard let term = terms[number] else { return }
        terms[number]?.lookups -= min(count, term.lookups)
        if term.found == nil, term.lookups <= count { remove(number) }
    }

    func name(of number: Int) -> String? { terms[number]?.name }

    /// Returns the number of a name that was looked up.
    func number(of name: String) -> Int? { byName[Array(name.utf8)] }

    /// Returns the results of the last search; `nil` if the folder was not opened, or not recently.
    func found(by number: Int) -> [Result]? { terms[number]?.found }

    mutating func set(found: [Result], by number: Int) {
        uses += 1
        terms[number]?.found = found
        terms[number]?.used = uses
    }

    var count: Int { terms.count }
}

extension SearchTerms<FoundFolder> {
    /// Returns the folders of a show among the results of all names.
    func folders(of show: ShowID) -> [NodeNumber] {
        terms.compactMap { number, term in
            guard term.found?.contains(where: { $0.podcast == show }) ?? false else { return nil }
            return NodeNumber(kind: .foundShow, generation: number, row: show)
        }
    }
}
