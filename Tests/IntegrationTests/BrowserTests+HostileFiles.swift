import Foundation
import TestSupport
import Testing

/// Every file of a mount with a hostile show, opened directly in a browser: from the folder, as the page's link "File"
/// does, and through a web server.
extension BrowserTests {
    /// Documents that request `canary?NAME` when a browser runs them or loads their resources.
    private enum Payload {
        static func xhtml(_ canary: String, _ name: String) -> String {
            """
            <?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>\
            <script>document.title='pwned';new Image().src='\(canary)?\(name)'</script>\
            <img src="\(canary)?\(name)"/></body></html>
            """
        }

        static func svg(_ canary: String, _ name: String) -> String {
            """
            <svg xmlns="http://www.w3.org/2000/svg"><script>new Image().src='\(canary)?\(name)'</script>\
            <image href="\(canary)?\(name)"/></svg>
            """
        }

        /// HTML that begins like an MP3 file, with the tag "ID3". A browser still runs it if its type is HTML.
        static func html(_ canary: String, _ name: String) -> String {
            "ID3\u{3} <html><body><script>new Image().src='\(canary)?\(name)'</script><img src='\(canary)?\(name)'>"
        }

        /// Encodes XML in UTF-16 with a byte order mark. It stays valid, but a byte search for a tag finds nothing.
        static func utf16(_ text: String) -> [UInt8] {
            [0xFF, 0xFE] + text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        }
    }

    /// File name extensions of formats that a browser, a desktop or a server may run, with the types in the feed. Most
    /// of these types are made up, because an item with the real type of an image or a document becomes no episode.
    private static let kinds: [(name: String, type: String)] = [
        ("svg", "application/x-any"), ("svg", "image/svg+xml"), ("xhtml", "application/x-any"),
        ("xht", ""), ("xml", "application/x-any"), ("xml", "text/xml"), ("rss", "application/x-any"),
        ("html", "text/html"), ("shtml", "application/x-any"), ("htm", "audio/html"),
        ("xspf", "application/x-any"), ("hta", "application/x-any"), ("mp3", "audio/mpeg"),
        ("mp4", "video/mp4"), ("m3u8", "application/x-mpegurl"), ("ogg", "audio/svg+xml"), ("ts", "video/mp2t"),
    ]

    @Test(.enabled(if: InstalledProgram.exists("nginx"), "needs nginx")) func noFileOfAHostileShowRuns() async throws {
        let show = try await Self.mounted { feed, server in
            let canary = server.url("/canary")
            feed.title = MountedShow.show
            feed.image = server.url("/art")
            let art = [0xFF, 0xD8, 0xFF] + Array("<script>new Image().src='\(canary)?asset'</script>".utf8)
            server.serve("/art", Resource(bytes: art, contentType: "text/html"))
            feed.raw = """
                <h:script xmlns:h="http://www.w3.org/1999/xhtml">new Image().src='\(canary)?feed'</h:script>\
                <h:img xmlns:h="http://www.w3.org/1999/xhtml" src="\(canary)?feed"/>
                """
            feed.items = Self.kinds.enumerated().map { index, kind in
                FeedBuilder.Item(
                    title: "\(index).\(kind.name)", guid: "file \(index)", url: server.url("/\(index).\(kind.name)"),
                    type: kind.type, published: FeedBuilder.date(day: index + 1))
            }
            feed.items[0].description = "<script>new Image().src='\(canary)?notes'</script>notes"
            feed.items[0].raw = """
                <itunes:image href="\(server.url("/art"))"/>\
                <podcast:transcript url="\(server.url("/t.vtt"))" type="text/vtt"/>\
                <podcast:transcript url="\(server.url("/t.srt"))" type="application/x-subrip"/>\
                <podcast:chapters url="\(server.url("/c.json"))" type="application/json+chapters"/>
                """
        }
        let server = show.server
        let canary = server.url("/canary")
        for (index, kind) in Self.kinds.enumerated() {
            let name = "\(index).\(kind.name)"
            let bytes =
                switch kind.name {
                case "svg": Payload.utf16(Payload.svg(canary, name))
                case "xhtml", "xht", "xml", "rss", "xspf", "mp4": Payload.utf16(Payload.xhtml(canary, name))
                default: Array(Payload.html(canary, name).utf8)
                }
            server.serve("/\(name)", Resource(bytes: bytes, contentType: "audio/mpeg"))
        }
        let script = "<script>new Image().src='\(canary)?asset'</script>"
        let cue = "00:00:00.000 --> 00:00:09.000\n\(script)\n"
        server.serve("/t.vtt", Resource(text: "WEBVTT\n\n" + cue, contentType: "text/html"))
        server.serve("/t.srt", Resource(text: "1\n" + cue, contentType: "text/html"))
        server.serve("/c.json", Resource(text: "{\"version\":\"1.2.0\",\"chapters\":[],\"x\":\"\(script)\"}"))

        let root = show.mount.mountPoint
        let listed = try await ChildProcess.run("find", [root, "-type", "f", "-printf", "%P\\0"]).output
        let files = listed.split(separator: "\0").map(String.init).sorted()
        let folder = MountedShow.show + "/"
        #expect(files.contains(folder + ".feed.xml.txt") && files.contains(folder + "cover.jpg"))
        #expect(files.count { $0.hasPrefix(folder) && $0.hasSuffix(".bin") } == 8, "\(files)")
        for name in [".chapters/2026-01-01 0.svg.json", ".notes/2026-01-01 0.svg.html", "2026-01-01 0.svg.srt"] {
            #expect(files.contains(folder + name))
        }

        let controls = try TemporaryDirectory()
        _ = try controls.makeDirectory("www")
        _ = try controls.write("www/control.svg", Payload.utf16(Payload.svg(canary, "svg")))
        _ = try controls.write("www/control.xml", Payload.utf16(Payload.xhtml(canary, "xml")))
        _ = try controls.write("www/control.shtml", Array(Payload.html(canary, "shtml").utf8))
        let names = ["control.svg", "control.xml", "control.shtml"]
        let logs = try TemporaryDirectory()
        let nginx = try await Nginx(in: logs, root: root)
        let nginxOfControls = try await Nginx(in: controls)
        let browser = try await Browser()
        let ways: [(file: (String) -> String, control: (String) -> String)] = [
            ({ "\(root)/\($0)" }, { controls.file("www/\($0)") }),
            ({ nginx.url($0) }, { nginxOfControls.url($0) }),
        ]
        for way in ways {
            server.clearLog()
            for file in files { try await Self.look(at: way.file(file), named: file, browser) }
            // Control: under names with which a browser runs scripts, the same documents do run. A request by any
            // earlier file would have arrived before the requests of the controls.
            for name in names { try await browser.open(way.control(name)) }
            try await waitUntil(description: "the controls have run") {
                names.allSatisfy { name in
                    Self.canaries(server).contains(String(name.dropFirst("control.".count)))
                }
            }
            #expect(Self.canaries(server) == Set(names.map { String($0.dropFirst("control.".count)) }))
        }
    }

    /// Returns the names of the documents that have run or loaded a resource.
    private static func canaries(_ server: HTTPTestServer) -> Set<String> {
        Set(server.requests(for: "/canary").map { $0.request.query ?? "" })
    }

    /// Opens an empty page, then the file. If the browser saves or rejects the file, it shows the empty page or its own
    /// error page. A displayed file must not be a document that can run scripts, unless podfs has generated it.
    private static func look(at address: String, named name: String, _ browser: Browser) async throws {
        try await browser.open("about:blank")
        // The driver reports an error if the file cannot be read.
        do { try await browser.open(address) } catch is Browser.Failure {}
        let shown = try await browser.value("location.protocol", as: String.self)
        let type = try await browser.value("document.contentType", as: String.self)
        let title = try await browser.value("document.title", as: String.self)
        // An .m3u8 episode whose content is not a playlist cannot be opened: nginx answers with its own error page.
        let isRefused = name.hasSuffix(".m3u8") && ["403 Forbidden", "500 Internal Server Error"].contains(title)
        if shown == "about:" || shown == "chrome-error:" || name.hasSuffix(".html") || isRefused { return }
        #expect(type != "text/html" && (!type.hasSuffix("xml") || name == ".subscriptions.opml"), "\(name): \(type)")
        #expect(title != "pwned", "\(name)")
    }
}
