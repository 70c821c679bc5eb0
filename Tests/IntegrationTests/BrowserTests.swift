import Foundation
import TestSupport
import Testing

/// The pages of a mount in a real browser.
@Suite(.enabled(if: Browser.isAvailable, Browser.requirement), .timeLimit(.minutes(10)))
struct BrowserTests {
    /// Returns an MP3 file of one minute, with a seek index in the first frame.
    private static func sound() async throws -> [UInt8] {
        try await ChildProcess.ffmpeg("sine=frequency=440:duration=60", "-b:a", "64k", as: "sound.mp3")
    }

    /// Mounts a show with three episodes after `change` has modified its feed, and clears the server's log.
    static func mounted(_ change: (inout FeedBuilder, HTTPTestServer) -> Void) async throws -> MountedShow {
        let show = try await MountedShow(isMounted: false)
        let server = show.server
        var feed = FeedBuilder.show(MountedShow.show, episodes: 3) { server.url("/\($0).mp3") }
        change(&feed, server)
        server.serve(feed: feed)
        try await show.home.run("refresh").succeeded()
        try await show.remount()
        server.clearLog()
        return show
    }

    private static func page(_ show: MountedShow) -> String {
        "\(show.mount.mountPoint)/\(MountedShow.show)/index.html"
    }

    @Test func aShowIsBrowsedAndPlayed() async throws {
        let gate = Gate(heldAt: 0)
        let picture = try await ChildProcess.ffmpeg("testsrc=size=300x300", "-frames:v", "1", as: "picture.jpg")
        let show = try await Self.mounted { feed, server in
            feed.title = MountedShow.show
            feed.image = server.url("/cover")
            server.serve("/cover", Resource(bytes: picture, contentType: "image/jpeg"), [.holdHead(gate)])
            feed.items[0].title = "50% off: #1? \"a\" & b – ü"
            feed.items[0].description = "<p>Notes <b>here</b>: 00:50 a sum of 12:5, v1.2:30; 0:00:20.</p>"
            feed.items[0].raw = """
                <psc:chapters xmlns:psc="http://podlove.org/simple-chapters">\
                <psc:chapter start="0" title="One"/><psc:chapter start="00:00:40" title="Two"/></psc:chapters>
                """
        }
        let server = show.server
        let sound = try await Self.sound()
        for number in 1...3 { server.serve("/\(number).mp3", Resource(bytes: sound, etag: "\"\(number)\"")) }
        let browser = try await Browser()
        // While the cover's server is slow, the page has a letter, and then shows the cover by itself.
        try await browser.open("\(show.mount.mountPoint)/index.html")
        #expect(try await browser.value("document.querySelectorAll('.art img').length", as: Int.self) == 0)
        gate.open()
        let width = "document.querySelector('.art img')?.naturalWidth"
        try await browser.wait(for: "the page shows the cover", "\(width)===300")
        // A click in the page of all shows opens the show's page.
        try await browser.open("\(show.mount.mountPoint)/index.html")
        #expect(try await browser.value("document.querySelectorAll('.shelf li').length", as: Int.self) == 1)
        try await browser.click(".shelf a")
        try await browser.wait(for: "the show's page is loaded", "document.title==='\(MountedShow.show)'")
        #expect(try await browser.value("document.querySelectorAll('audio').length", as: Int.self) == 3)
        #expect(try await browser.value("document.querySelector('.notes b').textContent", as: String.self) == "here")
        try await browser.wait(for: "the cover is shown", "\(width)===300")
        // No part of an episode is loaded before it is played.
        #expect(server.requests.allSatisfy { $0.path == "/cover" })
        #expect(try await browser.value("document.querySelector('audio').paused", as: Bool.self))
        // A click on a chapter plays from its start.
        try await browser.click("button[data-start='40.0']")
        try await browser.wait(for: "the player is in the chapter", "document.querySelector('audio').currentTime>40.1")
        #expect(try await browser.value("document.querySelector('audio').currentTime", as: Double.self) < 59)
        try await browser.wait(
            for: "the chapter is marked", "document.querySelector('[aria-current]').dataset.start==='40.0'")
        #expect(try await browser.value("Math.round(document.querySelector('audio').duration)", as: Int.self) == 60)
        // So does a click on a time in the notes.
        let times =
            "[...document.querySelectorAll('.notes button')].map(b=>b.textContent+'='+b.dataset.start).join(' ')"
        #expect(try await browser.value(times, as: String.self) == "00:50=50 0:00:20=20")
        try await browser.click(".notes button")
        try await browser.wait(for: "the player is at the time", "document.querySelector('audio').currentTime>50.1")
        // Seek back.
        try await browser.run("const a=document.querySelector('audio');a.pause();a.currentTime=5;a.play()")
        try await waitUntil(description: "the player has left the chapter") {
            let place = try await browser.value("document.querySelector('audio').currentTime", as: Double.self)
            return place > 5.1 && place < 40
        }
        // Playing another episode pauses the first.
        try await browser.run("document.querySelectorAll('audio')[1].play()")
        try await browser.wait(for: "the first player is paused", "document.querySelector('audio').paused")
        // The page may pause the first player before the browser requests the second episode, so the test waits until
        // both are requested.
        try await waitUntil(description: "both episodes are requested") {
            Set(server.requests.map(\.path)).isSuperset(of: ["/3.mp3", "/2.mp3"])
        }
        // Both played episodes are cached, and the reloaded page marks them.
        try await waitUntil(deadline: .seconds(120), description: "both episodes are marked as cached") {
            try await browser.open(Self.page(show))
            return try await browser.value("document.querySelectorAll('.cached').length", as: Int.self) == 2
        }
        // The page of all shows links to the page of a new view, whose episodes link to the show's folder.
        let set = try await show.home.run("view", "set", "50% of #1?", "downloaded=true")
        #expect(set.output == "50% of #1?: downloaded=true: 2 episodes\n", "\(set.error)")
        try await browser.open("\(show.mount.mountPoint)/index.html")
        try await browser.click("nav a[href*='50%25']")
        try await browser.wait(
            for: "the view's page is loaded", "document.querySelector('h1').textContent==='50% of #1?'")
        #expect(try await browser.value("document.querySelectorAll('a[data-player]').length", as: Int.self) == 2)
        try await browser.click(".episodes summary")
        try await browser.wait(for: "the row has a player", "document.querySelectorAll('audio').length===1")
        let links = "[...document.querySelectorAll('.inside .line a')].every(a=>/\\/Example%20Show\\//.test(a.href))"
        #expect(try await browser.value(links, as: Bool.self))
        try await browser.click("nav a")
        try await browser.wait(for: "the shelf is shown again", "document.querySelectorAll('.shelf li').length===1")
        try await browser.open("\(show.mount.mountPoint)/.status.html")
        #expect(try await browser.value("document.querySelectorAll('.recent li').length", as: Int.self) == 2)
        #expect(try await browser.value("document.querySelector('h1').textContent", as: String.self) == "Transfers")
        #expect(try await browser.console().filter { $0.contains("Content Security Policy") } == [])
    }

    @Test func aChapterAtTheBeginningPlaysFromThere() async throws {
        let show = try await Self.mounted { feed, _ in
            feed.title = MountedShow.show
            feed.items[0].raw = """
                <psc:chapters xmlns:psc="http://podlove.org/simple-chapters">\
                <psc:chapter start="0" title="One"/><psc:chapter start="00:00:40" title="Two"/></psc:chapters>
                """
        }
        let sound = try await Self.sound()
        show.server.serve("/3.mp3", Resource(bytes: sound, etag: "\"3\""))
        try await show.home.run("set", "\(MountedShow.show)/2026-01-03 Episode 3.mp3", "position=30").succeeded()
        let browser = try await Browser()
        let player = "document.querySelector('audio')"
        try await waitUntil(description: "the page has the stored position") {
            try await browser.open(Self.page(show))
            return try await browser.value("\(player).dataset.at==='30'", as: Bool.self)
        }
        // Without a click on a chapter, playing continues at the stored position.
        try await browser.run("\(player).play()")
        try await browser.wait(for: "the player is after the stored position", "\(player).currentTime>30")
        // The page is loaded again. It has not loaded the media yet, so the media's metadata arrives after the click.
        try await browser.open(Self.page(show))
        try await browser.click("button[data-start='0.0']")
        try await browser.wait(for: "the chapter plays", "\(player).readyState>0&&\(player).currentTime>.1")
        #expect(try await browser.value("\(player).currentTime", as: Double.self) < 30)
    }

    @Test func textOfAFeedRunsNoScript() async throws {
        let canary = "document.title='pwned';fetch('CANARY');new Image().src='CANARY'"
        let show = try await Self.mounted { feed, server in
            let script = canary.replacing("CANARY", with: server.url("/canary"))
            let url = server.url("/canary")
            let notes = """
                <script>\(script)</script><img src=x onerror="\(script)"><svg onload="\(script)"></svg>
                <iframe srcdoc="<script>parent.document.title='pwned'</script>" src="\(url)"></iframe>
                <a id=l href="javascript:\(script)">x</a><a href=" java\u{1}script:\(script)">x</a>
                <a href="data:text/html,<script>\(script)</script>">x</a><base href="\(url)">
                <details open ontoggle="\(script)">x</details><body onload="\(script)"><form action="\(url)">
                <input autofocus onfocus="\(script)"></form><style>@import '\(url)';body{background:url(\(url))}</style>
                <link rel=stylesheet href="\(url)"><meta http-equiv=refresh content="0;url=\(url)">
                <object data="\(url)"></object><embed src="\(url)"><video poster="\(url)" src="\(url)" autoplay></video>
                <math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=\(script)&gt;">
                <noscript><p title="</noscript><img src=x onerror='\(script)'>"></noscript>
                <p style="background:url(\(url))" onmouseover="\(script)">the end</p>
                """
            feed.title = MountedShow.show
            feed.link = "javascript:\(script)"
            feed.description = notes
            feed.image = server.url("/art")
            feed.items[0].description = notes + String(repeating: "<div><b>x</b>", count: 1_000)
            feed.items[1].title = "\"><script>\(script)</script><img src=x onerror=\"\(script)\">"
            feed.items[1].raw = """
                <link>javascript:\(script)</link><psc:chapters xmlns:psc="http://podlove.org/simple-chapters">\
                <psc:chapter start="0" title="&lt;img src=x onerror=&quot;\(script)&quot;&gt;"/></psc:chapters>
                """
            // Five megabytes of hostile notes.
            feed.items[2].description = String(repeating: notes, count: 5_000_000 / notes.utf8.count + 1)
        }
        let server = show.server
        server.serve("/art", Resource(text: "<script>\(canary)</script>", contentType: "image/svg+xml"))
        let browser = try await Browser()
        let root = show.mount.mountPoint
        let pages = ["\(root)/index.html", Self.page(show), "\(root)/.status.html"]
        let names = try await ChildProcess.run("find", ["\(root)/\(MountedShow.show)/.notes", "-type", "f"]).output
        #expect(names.split(separator: "\n").count == 2)
        for page in pages + names.split(separator: "\n").map(String.init) {
            try await browser.open(page)
            let title = try await browser.value("document.title", as: String.self)
            try await browser.run("for(const d of document.querySelectorAll('details'))d.open=true")
            // Click everything.
            try await browser.run(
                "for(const e of document.querySelectorAll('.notes *,.about *,button,body>div *'))if(!e.href)e.click()")
            // Let the browser draw a frame and wait 500 ms: any script would have run by then.
            _ = try await browser.value(
                "new Promise(done=>requestAnimationFrame(()=>setTimeout(()=>done(1),500)))", as: Int.self)
            #expect(try await browser.value("document.title", as: String.self) == title && title != "pwned", "\(page)")
            let strange = "document.querySelectorAll('iframe,object,embed,base,form,[onerror],[onload],[style]').length"
            #expect(try await browser.value(strange, as: Int.self) == 0, "\(page)")
            let links = "[...document.links].filter(l=>!/^(https?|file|mailto):/.test(l.href)).length"
            #expect(try await browser.value(links, as: Int.self) == 0, "\(page)")
        }
        #expect(server.requests(for: "/canary").isEmpty)
        // The page's Content Security Policy is a second line of defense: it blocks what the sanitizer has missed.
        try await browser.open(Self.page(show))
        try await browser.run(
            """
            document.body.insertAdjacentHTML('beforeend','<img src="\(server.url("/canary"))">\
            <i id=i onclick="document.title=\\'pwned\\'">x</i><a id=a href="javascript:document.title=\\'pwned\\'">x</a>');
            const s=document.createElement('script');s.textContent="document.title='pwned'";document.body.append(s);
            document.getElementById('i').click();document.getElementById('a').click()
            """)
        _ = try await browser.value("new Promise(done=>setTimeout(()=>done(1),500))", as: Int.self)
        #expect(try await browser.value("document.title", as: String.self) == MountedShow.show)
        #expect(server.requests(for: "/canary").isEmpty)
        try await waitUntil(description: "the browser reports the blocked content") {
            try await browser.console().contains { $0.contains("Content Security Policy") }
        }
    }

    @Test func moreThanAThousandEpisodesAreListed() async throws {
        let count = 1_200
        let show = try await Self.mounted { feed, server in
            feed = .show(MountedShow.show, episodes: count, length: 300_000) { server.url("/\($0).mp3") }
            for index in feed.items.indices { feed.items[index].description = "<p>Notes of \(index)</p>" }
        }
        let sound = try await Self.sound()
        show.server.serve("/1.mp3", Resource(bytes: sound, etag: "\"1\""))
        let browser = try await Browser()
        try await browser.open(Self.page(show))
        #expect(try await browser.value("document.querySelectorAll('.episodes>li').length", as: Int.self) == 500)
        #expect(try await browser.value("document.querySelectorAll('audio').length", as: Int.self) == 200)
        // Older episodes are added on demand.
        for _ in 1...2 { try await browser.click(".more") }
        #expect(try await browser.value("document.querySelectorAll('.episodes>li').length", as: Int.self) == count)
        #expect(try await browser.value("document.querySelector('.more').hidden", as: Bool.self))
        // The row of the last episode has no player until it is opened.
        let last = ".episodes>li:last-child"
        try await browser.click("\(last) summary")
        try await browser.wait(for: "the episode has a player", "document.querySelectorAll('\(last) audio').length===1")
        #expect(show.server.requests.isEmpty)
        try await browser.run("document.querySelector('\(last) audio').play()")
        try await browser.wait(for: "the episode plays", "document.querySelector('\(last) audio').currentTime>.1")
        // The list can be filtered.
        try await browser.run(
            "const i=document.querySelector('.filter input');i.value='EPISODE 77';i.dispatchEvent(new Event('input'))")
        let shown = "[...document.querySelectorAll('.episodes>li')].filter(e=>e.checkVisibility()).length"
        #expect(try await browser.value(shown, as: Int.self) == 11)
    }
}
