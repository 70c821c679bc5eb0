internal import Platform
internal import PodcastFeed
internal import Transfers

/// A check of a stream's playlist (HTTP Live Streaming, RFC 8216). It performs no I/O.
///
/// A player that opens the playlist fetches every address in it without asking. So an episode is only presented as a
/// stream if all addresses are http or https, and none has `localhost` or a numeric host in a more private network than
/// the playlist itself. Other host names are not looked up here, and pass.
struct StreamPlaylist {
    /// The maximum size of a playlist in bytes: a day of two-second segments with long addresses.
    static let largest = 8 << 20

    /// The error for opens and downloads of a stream.
    static let notAFile = TransferError(
        .unusable, "it is a stream, not a file: players fetch it while they play it")

    /// The final address of the playlist.
    let base: String
    var reach = ReachPolicy()
    /// The address space (public, local or loopback) of that address; `nil` allows links into any address space.
    let space: AddressSpace?

    /// Checks the lines of a playlist, and that it has at least one address to play.
    func check(_ text: [UInt8]) throws(TransferError) {
        let lines = DocumentStart.text(text).split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
            .map(\.trimmedSpace).filter { !$0.isEmpty }
        guard let first = lines.first else { throw TransferError(.unusable, "the playlist of the stream is empty") }
        guard first.starts(with: Self.header), first.dropFirst(Self.header.count).first ?? 0x20 <= 0x20 else {
            throw TransferError(.unusable, "the server sent something other than the playlist of a stream")
        }
        var isPlayable = false
        for line in lines.dropFirst() {
            if line.first != UInt8(ascii: "#") {
                isPlayable = true
                try check(line)
            } else if line.starts(with: Self.tag), !Self.textTags.contains(where: { line.starts(with: $0) }) {
                for address in Self.addresses(ofTag: line) { try check(address) }
            }
        }
        if !isPlayable { throw Self.unusable("no address") }
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
            let name = rest[..<equals].trimmedSpace
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

extension ArraySlice<UInt8> {
    /// The bytes without spaces and tabs at both ends.
    fileprivate var trimmedSpace: ArraySlice<UInt8> {
        var rest = self
        while let first = rest.first, first == 0x20 || first == 0x09 { rest.removeFirst() }
        while let last = rest.last, last == 0x20 || last == 0x09 { rest.removeLast() }
        return rest
    }
}
