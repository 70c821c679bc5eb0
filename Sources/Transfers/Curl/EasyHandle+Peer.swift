internal import CCurl
internal import Glibc

// The state of a running transfer's connection.
extension EasyHandle {
    /// Whether the server has closed its side of the connection. Bytes that it sent before the close can still be read.
    /// While curl cannot send, because the server's receive window is closed, curl does not notice the close itself.
    var peerHasClosed: Bool {
        guard let socket = connectedSocket else { return false }
        var entry = pollfd(fd: socket, events: Self.readSideClosed, revents: 0)
        return poll(&entry, 1, 0) > 0 && entry.revents & Self.readSideClosed != 0
    }

    /// POLLRDHUP of <bits/poll.h>, which Glibc's module omits.
    private static let readSideClosed: Int16 = 0x2000

    /// The local address of the connection; `nil` while there is none.
    var localAddress: NetworkAddress? {
        var text: UnsafeMutablePointer<CChar>?
        ccurl_get_string(pointer, CURLINFO_LOCAL_IP, &text)
        return text.flatMap { NetworkAddress(String(cString: $0)) }
    }

    /// The descriptor of the connection, found by its two ports, since CURLINFO_ACTIVESOCKET returns it only after the
    /// end of a transfer.
    private var connectedSocket: Int32? {
        var (local, remote) = (0, 0)
        guard ccurl_get_long(pointer, CURLINFO_LOCAL_PORT, &local) == CURLE_OK, local > 0,
            ccurl_get_long(pointer, CURLINFO_PRIMARY_PORT, &remote) == CURLE_OK, remote > 0
        else { return nil }
        return OpenSockets.connected(from: local, to: remote)
    }
}
