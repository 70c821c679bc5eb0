import Foundation

/// An HTTP proxy on the loopback interface, a Python program. It accepts requests in absolute form (RFC 9112 §3.2.2),
/// one on each connection, and CONNECT (RFC 9110 §9.3.6). It maps host names to ports of this computer, without DNS.
package final class ForwardProxy: Sendable {
    package let port: UInt16
    private let folder: TemporaryDirectory
    private let child: ChildProcess

    /// The arguments are the log and the targets, `HOST=PORT`. `Connection: close` is added to each answer, so that
    /// the client sends its next request on a new connection.
    private static let program = #"""
        import asyncio, sys, urllib.parse
        log = open(sys.argv[1], "w")
        targets = dict(word.split("=") for word in sys.argv[2:])
        async def copy(source, sink, field=b""):
            while data := await source.read(65536):
                if field and data.startswith(b"HTTP/1.1 "): data = data.replace(b"\r\n", b"\r\n" + field, 1)
                sink.write(data)
                await sink.drain()
            sink.close()
        async def serve(client, answer):
            method, target, rest = (await client.readuntil(b"\r\n\r\n")).decode().split(" ", 2)
            print(method, target, file=log, flush=True)
            is_tunnel = method == "CONNECT"
            url = urllib.parse.urlsplit("//" + target if is_tunnel else target)
            if url.hostname not in targets:
                answer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
                return answer.close()
            server, request = await asyncio.open_connection("127.0.0.1", int(targets[url.hostname]))
            if is_tunnel: answer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else: request.write(f"{method} {url.path}{'?' + url.query if url.query else ''} {rest}".encode())
            back = copy(server, answer, b"" if is_tunnel else b"Connection: close\r\n")
            await asyncio.gather(copy(client, request), back)
        async def main():
            listener = await asyncio.start_server(serve, "127.0.0.1", 0)
            print(listener.sockets[0].getsockname()[1], flush=True)
            await listener.serve_forever()
        asyncio.run(main())
        """#

    /// - Parameter targets: The port on 127.0.0.1 for each host name. A request for another host is answered with 502.
    package init(_ targets: [String: UInt16]) async throws {
        folder = try TemporaryDirectory()
        let words = targets.map { "\($0.key)=\($0.value)" }
        child = try ChildProcess("python3", ["-c", Self.program, folder.file("log")] + words)
        try await child.waitForOutput("\n")
        port = UInt16(child.output.trimmingCharacters(in: .newlines)) ?? 0
    }

    package var url: String { "http://127.0.0.1:\(port)" }

    /// The first lines of all requests, without the version.
    package var requests: [String] {
        let text = (try? String(contentsOfFile: folder.file("log"), encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }
}
