internal import PodcastProtocol
internal import TransferCore

/// The names that were looked up in `.search`, and what was found by them.
///
/// Each has a number, from which its node is made. The number is computed of the name, so that it is the same after a
/// restart, and stays with the name for as long as the kernel knows the node: of two names that come out alike (of a
/// hundred some two do, once in fifty times) the later gets the next free number. Bounded: beyond `capacity` the name
/// that was not used for longest goes, or, while the kernel still knows it, the kernel is asked to forget it.
struct SearchTerms: Sendable {
    /// Names that are remembered by themselves. With fifty results each they take 10 MB at most.
    static let capacity = 1_000
    /// Names that the kernel may hold, a quarter of the numbers there are: beyond it no new one is given.
    static let limit = 1 << 16
    /// Numbers are the generations of nodes: 18 bits.
    private static let numbers = 1 << 18

    private struct Term {
        var name: String
        /// The number of lookups that the kernel has not taken back yet.
        var lookups: UInt64 = 0
        /// The moment of the last use, in uses.
        var used = 0
        /// `nil` while the folder was not opened.
        var found: [FoundFolder]?
    }

    private var terms: [Int: Term] = [:]
    /// By the bytes of the name: Swift calls different spellings of a letter equal, and the kernel does not.
    private var byName: [[UInt8]: Int] = [:]
    private var uses = 0

    /// The number of a name; the kernel will be told of its node once more.
    ///
    /// - Returns: `nil` when the kernel holds too many. `dropped`: a name that it is to be asked to forget.
    mutating func lookUp(_ name: String) -> (number: Int, dropped: String?)? {
        uses += 1
        let bytes = Array(name.utf8)
        if let number = byName[bytes] {
            terms[number]?.lookups += 1
            terms[number]?.used = uses
            return (number, nil)
        }
        guard terms.count < Self.limit else { return nil }
        let dropped = terms.count >= Self.capacity ? dropOldest() : nil
        var number = Self.hash(bytes)
        while terms[number] != nil { number = (number + 1) % Self.numbers }
        terms[number] = Term(name: name, lookups: 1, used: uses)
        byName[bytes] = number
        return (number, dropped)
    }

    /// Drops the name that was not used for longest, of those that the kernel does not know if there are any.
    ///
    /// - Returns: the name, if the kernel knows it: it stays until the kernel has forgotten it.
    private mutating func dropOldest() -> String? {
        let oldest = terms.min {
            ($0.value.lookups > 0 ? 1 : 0, $0.value.used) < ($1.value.lookups > 0 ? 1 : 0, $1.value.used)
        }
        guard let (number, term) = oldest else { return nil }
        if term.lookups == 0 {
            terms[number] = nil
            byName[Array(term.name.utf8)] = nil
            return nil
        }
        terms[number]?.found = nil
        // Another one the next time, should this one be in use.
        terms[number]?.used = uses
        return term.name
    }

    /// FNV-1a of 32 bits, folded to 18 by exclusive or as its authors advise.
    private static func hash(_ bytes: [UInt8]) -> Int {
        var hash: UInt32 = 2_166_136_261
        for byte in bytes { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        return Int((hash >> 18 ^ hash) & UInt32(numbers - 1))
    }

    /// The kernel has forgotten so many lookups of the node.
    mutating func forget(_ number: Int, count: UInt64) {
        guard let lookups = terms[number]?.lookups else { return }
        terms[number]?.lookups = lookups - min(count, lookups)
    }

    func name(of number: Int) -> String? { terms[number]?.name }

    /// The shows that the folder was last found to hold; `nil` when it was not opened.
    func found(by number: Int) -> [FoundFolder]? { terms[number]?.found }

    mutating func set(found: [FoundFolder], by number: Int) {
        uses += 1
        terms[number]?.found = found
        terms[number]?.used = uses
    }

    /// The nodes of a show among the results.
    func folders(of show: ShowID) -> [NodeNumber] {
        terms.compactMap { number, term in
            guard term.found?.contains(where: { $0.podcast == show }) ?? false else { return nil }
            return NodeNumber(kind: .foundShow, generation: number, row: show)
        }
    }

    var count: Int { terms.count }
}
