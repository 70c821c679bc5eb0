internal import Platform
internal import PodcastFeed
internal import Transfers

/// A check of a stream's playlist (HTTP Live Streaming, RFC 8216) that receives the playlist piece by piece. It
/// performs no I/O.
///
/// A player that opens the playlist fetches every address in it without asking. So an episode is only presented as a
/// stream if all addresses are http or https, and none has `localhost` or a numeric host in a more private network than
/// the playlist itself. Other host names are not looked up here, and pass.
struct StreamPlaylist {
    /// The maximum size of a playlist in bytes: a day of two-second segments with long addresses.
    static let largest = 8 << 20
    /// The maximum length of a line in bytes.
    static let longestLine = 64 << 10

    /// The error for opens and downloads of a stream.
    static let notAFile = TransferError(
        .unusable, "it is a stream, not a file: players fetch it while they play it")

    private let base: String
    private let reach: ReachPolicy
    private let space: AddressSpace?
    /// The received part of the current line.
    private var line: [UInt8] = []
    /// Whether the header `#EXTM3U` is still expected.
    private var isFirst = true
    /// Number of lines with an address.
    private var addresses = 0

    /// - Parameters:
    ///   - base: the final address of the playlist.
    ///   - space: the address space (public, local or loopback) of that address; `nil` allows links into
    ///     any address space.
    init(base: String, reach: ReachPolicy = ReachPolicy(), space: AddressSpace? = nil) {
        self.base = base
        self.reach = reach
        self.space = space
    }

    /// Appends the next received bytes, and checks each line that they complete.
    mutating func append(_ bytes: some Collection<UInt8>) throws(TransferError) {
        var rest = bytes[...]
        while let end = rest.firstIndex(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
            line += rest[..<end]
            rest = rest[rest.index(after: end)...]
            try endLine()
        }
        line += rest
        if line.count > Self.longestLine { throw Self.unusable("a line longer than \(Self.longestLine) bytes") }
    }

    /// Checks the last line, and that the playlist has at least one address to play.
    mutating func finish() throws(TransferError) {
        try endLine()
        if isFirst { throw TransferError(.unusable, "the playlist of the stream is empty") }
        if addresses == 0 { throw Self.unusable("no address") }
    }

    private mutating func endLine() throws(TransferError) {
        if line.count > Self.longestLine { throw Self.unusable("a line longer than \(Self.longestLine) bytes") }
        var text = line.trimmedSpace
        line.removeAll(keepingCapacity: true)
        if isFirst {
            if text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
            if text.isEmpty { return }
            isFirst = false
            let rest = text.dropFirst(Self.header.count)
            guard text.starts(with: Self.header), rest.first ?? 0x20 <= 0x20 else {
                throw TransferError(.unusable, "the server sent something other than the playlist of a stream")
            }
            return
        }
        guard let first = text.first else { return }
        if first != UInt8(ascii: "#") {
            addresses += 1
            try check(text)
        } else if text.starts(with: Self.tag), !Self.textTags.contains(where: { text.starts(with: $0) }) {
            for address in Self.addresses(ofTag: text) { try check(address) }
        }
    }

    private static let header = Array("#EXTM3U".utf8)
    private static let tag = Array("#EXT".utf8)
    /// Tags whose value is text for people, not a list of attributes.
    private static let textTags = ["#EXTINF", "#EXT-X-PROGRAM-DATE-TIME"].map { Array($0.utf8) }

    /// Returns the values of a tag's attributes that are addresses. These are the attribute `X-ASSET-LIST` and all
    /// attributes whose names end with `URI`.
    static func addresses(ofTag text: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else { return [] }
        var rest = text[(colon + 1)...]
        var found: [ArraySlice<UInt8>] = []
        while let equals = rest.firstIndex(of: UInt8(ascii: "=")) {
            let name = Array(rest[..<equals]).trimmedSpace
            rest = rest[(equals + 1)...]
            let value: ArraySlice<UInt8>
            if rest.first == UInt8(ascii: "\"") {
                value = rest.dropFirst().prefix { $0 != UInt8(ascii: "\"") }
            } else {
                value = rest.prefix { $0 != UInt8(ascii: ",") }
            }
            if name.suffix(3).elementsEqual("URI".utf8) || name.elementsEqual("X-ASSET-LIST".utf8) {
                found.append(value)
            }
            rest = rest[value.endIndex...]
            guard let comma = rest.firstIndex(of: UInt8(ascii: ",")) else { break }
            rest = rest[(comma + 1)...]
        }
        return found
    }

    private func check(_ reference: ArraySlice<UInt8>) throws(TransferError) {
        let text = URLReference.resolve(String(decoding: reference, as: UTF8.self), base: base)
        let address: WebAddress
        do throws(WebAddress.Problem) {
            address = try WebAddress(text)
        } catch {
            let scheme = error == .scheme ? " (\(text.prefix { $0 != ":" }.prefix(20)):)" : ""
            throw Self.unusable("an address that \(error)\(scheme)")
        }
        guard let space, let own = reach.space(ofHost: address.host), own > space,
            !reach.excepts(NetworkAddress(address.host), host: address.host)
        else { return }
        throw TransferError(
            .outOfReach, "the playlist of the stream, on a less private network, leads to an address \(own.phrase)")
    }

    private static func unusable(_ what: String) -> TransferError {
        TransferError(.unusable, "the playlist of the stream has \(what)")
    }
}

extension ReachPolicy {
    /// Returns the space of a host that is a numeric address or this computer; `nil` for a name, which the program that
    /// connects looks up.
    func space(ofHost host: String) -> AddressSpace? {
        if host == "localhost" || host.hasSuffix(".localhost") { return .loopback }
        return NetworkAddress(host).map(space)
    }
}

extension Array<UInt8> {
    /// The bytes without spaces and tabs at both ends.
    fileprivate var trimmedSpace: ArraySlice<UInt8> {
        var rest = self[...]
        while let first = rest.first, first == 0x20 || first == 0x09 { rest.removeFirst() }
        while let last = rest.last, last == 0x20 || last == 0x09 { rest.removeLast() }
        return rest
    }
}
