import Foundation
import Testing

@testable import PodcastPages

struct SanitizedHTMLTests {
    /// Notes that would run, load or send something in a browser, with the expected result.
    private static let hostile: [(html: String, text: String)] = [
        ("<script>alert(1)</script>a", "a"),
        ("<p>a\u{9B}b&#x202E;c\u{2066}d\u{200F}</p>", "<p>a b c d\u{200F}</p>"),
        ("a<script src=//evil.example/x.js></script>b", "ab"),
        ("<SCRIPT>alert(1)</SCRIPT>", ""),
        ("<scr<script>ipt>alert(1)</script>x", "ipt&gt;alert(1)x"),
        ("<style>body{background:url(//evil.example)}</style>a", "a"),
        ("<p style=\"background:url(javascript:alert(1))\">a</p>", "<p>a</p>"),
        ("<iframe src=\"https://evil.example\">b</iframe>a", "a"),
        ("<iframe srcdoc=\"<script>alert(1)</script>\"></iframe>a", "a"),
        ("<object data=\"data:text/html,<script>alert(1)</script>\"><p>b</p></object>a", "a"),
        ("<embed src=\"https://evil.example/x.swf\">a", "a"),
        ("<form action=\"https://evil.example\"><input name=p value=x><button>go</button>a</form>", "a"),
        ("<textarea><script>alert(1)</script></textarea>a", "a"),
        ("<p onclick=\"alert(1)\" onmouseover=alert(1)>a</p>", "<p>a</p>"),
        ("<img src=x onerror=alert(1)>a", "a"),
        ("<img src=\"https://evil.example/pixel.gif\" alt=\"a &lt;b&gt;\">", "a &lt;b&gt;"),
        ("<svg onload=alert(1)><script>alert(1)</script></svg>a", "a"),
        ("<svg><a xlink:href=\"javascript:alert(1)\"><text>b</text></a></svg>a", "a"),
        (
            "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table></mtext></math>a",
            "a"
        ),
        ("<a href=\"javascript:alert(1)\">a</a>", "<a>a</a>"),
        ("<a href=\" java\tscript:alert(1)\">a</a>", "<a>a</a>"),
        ("<a href=\"java&#10;script:alert(1)\">a</a>", "<a>a</a>"),
        ("<a href=\"&#1;javascript:alert(1)\">a</a>", "<a>a</a>"),
        ("<a href=\"&#106;avascript&colon;alert(1)\">a</a>", "<a>a</a>"),
        ("<a href=\"JaVaScRiPt:alert(1)\">a</a>", "<a>a</a>"),
        ("<a href=\"vbscript:msgbox(1)\">a</a>", "<a>a</a>"),
        ("<a href=\"data:text/html;base64,PHNjcmlwdD4=\">a</a>", "<a>a</a>"),
        ("<a href=\"file:///etc/passwd\">a</a>", "<a>a</a>"),
        ("<a href=\"//evil.example/\">a</a>", "<a>a</a>"),
        ("<a href=\"/relative\">a</a>", "<a>a</a>"),
        ("<base href=\"https://evil.example/\"><a href=\"x\">a</a>", "<a>a</a>"),
        ("<meta http-equiv=refresh content=\"0;url=https://evil.example\">a", "a"),
        ("<link rel=stylesheet href=\"https://evil.example/x.css\">a", "a"),
        ("<video src=x onerror=alert(1)><source src=x></video><audio src=x autoplay></audio>a", "a"),
        ("<!--[if IE]><script>alert(1)</script><![endif]-->a", "a"),
        ("<![CDATA[<script>alert(1)</script>]]>", "![CDATA[]]&gt;"),
        ("<?php echo 1 ?>a", "a"),
        ("<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">a</p></noscript>b", "b"),
        ("<title><script>alert(1)</script></title>a", "a"),
        ("<xmp><script>alert(1)</script></xmp>a", "a"),
        (
            "<abbr title='\"><script>alert(1)</script>'>a</abbr>",
            "<abbr title=\"&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;\">a</abbr>"
        ),
        (
            "<a href='https://a.example/\"onmouseover=alert(1)//'>a</a>",
            "<a href=\"https://a.example/&quot;onmouseover=alert(1)//\" rel=\"noopener noreferrer nofollow\">a</a>"
        ),
        ("&lt;script&gt;alert(1)&lt;/script&gt;", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("<div id=x name=y class=z data-a=b>a</div>", "<div>a</div>"),
        ("<td colspan=\"99999999\" rowspan=\"2;x\">a</td>", "<td>a</td>"),
        ("<p>a", "<p>a</p>"),
        ("</div></body></html><p>a</p>", "<p>a</p>"),
        ("<b><i>a</b></i>", "<b><i>a</i></b>"),
        ("<marquee><blink>a</blink></marquee>", "a"),
        ("<html><head><title>t</title></head><body bgcolor=red><p>a</p></body></html>", "<p>a</p>"),
    ]

    @Test func hostileNotesAreHarmless() {
        for (html, text) in Self.hostile {
            // The parser puts text outside any element into a paragraph.
            let found = SanitizedHTML.text(of: html)
            #expect(found == text || found == "<p>\(text)</p>", "\(html)")
        }
    }

    @Test func outputHasOnlyAllowedMarkup() {
        // All hostile notes concatenated, inside elements of several kinds, and cut at many positions.
        let all = Self.hostile.map(\.html).joined()
        for wrapper in [
            "", "<div>", "<table><tr><td>", "<ul><li>", "<select>", "<p><b>", "<a href='https://a.example'>",
        ] {
            for length in stride(from: 1, to: all.count, by: 7) {
                let text = SanitizedHTML.text(of: wrapper + all.prefix(length)).lowercased()
                for tag in text.matches(of: /<\/?([a-z0-9]*)([^>]*)>/) {
                    #expect(!["script", "style", "iframe", "svg", "img", "form", "input"].contains(tag.output.1))
                    let rest = tag.output.2
                    #expect(rest.isEmpty || !rest.contains(/(^|\s)on[a-z]+=/), "\(tag.output.0)")
                    #expect(
                        !rest.contains("href=\"") || rest.contains(/^ href="(https?:\/\/|mailto:)/), "\(tag.output.0)")
                }
                let opened = text.matches(of: /<([a-z0-9]+)[^>]*>/).filter {
                    !["br", "hr", "wbr", "col"].contains($0.output.1)
                }
                #expect(opened.count == text.matches(of: /<\/[a-z0-9]+>/).count)
            }
        }
    }

    @Test func markupOfShowNotesIsPreserved() {
        let html = """
            <h2>About</h2><p>One &amp; <strong>two</strong>, <em>three</em><br/>four – für 🎙</p>
            <ul><li>a</li><li><a href="https://a.example/?b=1&amp;c=2" target="_blank">b</a></li></ul>
            <ol start="3"><li dir="rtl">c</li></ol><blockquote>d</blockquote><pre>e  f</pre>
            """
        let link = "<a href=\"https://a.example/?b=1&amp;c=2\" rel=\"noopener noreferrer nofollow\">b</a>"
        #expect(
            SanitizedHTML.text(of: html) == """
                <h2>About</h2><p>One &amp; <strong>two</strong>, <em>three</em><br>four – für 🎙</p>
                <ul><li>a</li><li>\(link)</li></ul>
                <ol start="3"><li dir="rtl">c</li></ol><blockquote>d</blockquote><pre>e  f</pre>
                """)
        #expect(
            SanitizedHTML.text(of: "<a href=\"mailto:a@b.example\">a</a>").hasPrefix("<a href=\"mailto:a@b.example\""))
    }

    @Test func plainTextBecomesParagraphsWithLinks() {
        let text = "One < two & three\nsee https://a.example/x?y=1, or (http://b.example).\n\njavascript:alert(1)"
        func link(_ url: String) -> String { "<a href=\"\(url)\" rel=\"noopener noreferrer nofollow\">\(url)</a>" }
        #expect(
            SanitizedHTML.text(of: text)
                == "<p>One &lt; two &amp; three<br>see \(link("https://a.example/x?y=1")), or (http://b.example).</p>"
                + "<p>javascript:alert(1)</p>")
        #expect(SanitizedHTML.text(of: "") == "")
    }

    @Test func depthAndSizeAreBounded() {
        let deep = String(repeating: "<div>", count: 100_000) + "a"
        let text = SanitizedHTML.text(of: deep)
        #expect(text.hasSuffix("</div>") && text.count < 64 * 11 + 2)
        let long = SanitizedHTML.text(of: "<p>" + String(repeating: "ä", count: 2 << 20))
        #expect(long.utf8.count < 1 << 18 + 100 && long.hasSuffix("</p>"))
        #expect(SanitizedHTML.text(of: "<p>a\0b</p>") == "<p>ab</p>")
    }

    /// One tag with as many attributes as fit into the limit of the input, and one attribute that is beyond the limit.
    @Test func theAttributesOfAnElementAreBounded() {
        let names = (0..<50_000).map { "a\($0)" }.joined(separator: " ")
        #expect(SanitizedHTML.text(of: "<b dir=ltr \(names)>x</b>").hasPrefix("<b dir=\"ltr\">"))
        let few = (0..<64).map { "a\($0)" }.joined(separator: " ")
        #expect(SanitizedHTML.text(of: "<b \(few) dir=ltr>x</b>") == "<b>x</b>")
    }

    @Test func escapedPlainTextKeepsItsParagraphsAndLinks() {
        #expect(
            SanitizedHTML.text(of: "&lt;T> &amp; &quot;\n\nhttps://a.example/?b&amp;c")
                == "<p>&lt;T&gt; &amp; &quot;</p><p>"
                + "<a href=\"https://a.example/?b&amp;c\" rel=\"noopener noreferrer nofollow\">https://a.example/?b&amp;c</a></p>"
        )
        #expect(
            SanitizedHTML.text(of: "&lt;script>alert(1)&lt;/script>") == "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>")
    }

    /// Quotation marks may hide the end of a tag. The tree has at most 64 attributes, the parser sees some hundred.
    @Test(arguments: ["<b ", "<b a='>' ", "<b a = \">\" ", "<b a='x'", "<b/"])
    func aTagOfManyAttributesIsCut(start: String) {
        let many = SanitizedHTML.boundingAttributes(
            of: Array((start + String(repeating: "a/b='c'd ", count: 20_000)).utf8))
        #expect(many.count < 2_000)
        let text = "<p class = \"a\" title='b > c'>x = 'y' / z</p>"
        #expect(SanitizedHTML.boundingAttributes(of: Array(text.utf8)) == Array(text.utf8))
    }
}
