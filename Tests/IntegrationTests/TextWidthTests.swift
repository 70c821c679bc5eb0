import Testing

@testable import podfs

struct TextWidthTests {
    @Test(arguments: [
        ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("日本語", 6), ("ｱｲｳ", 3), ("ＡＢ", 4), ("한국어", 6),
        ("\u{1112}\u{1161}\u{11AB}", 2), ("😀", 2), ("👩‍👩‍👧‍👦", 2), ("👍🏽", 2), ("🇩🇪", 2), ("❤\u{FE0F}", 2), ("❤", 1),
        ("a\u{200B}b", 2), ("עִבְרִית", 5), ("ไทย", 3), ("ที่", 1), ("—…", 2), ("𠀀", 2), ("1\u{FE0F}\u{20E3}", 2), ("12", 2),
        ("\u{1B}", 0), ("soft\u{AD}ly", 6),
    ])
    func textHasTheColumnsThatATerminalNeedsForIt(_ text: String, _ columns: Int) {
        #expect(TextWidth.columns(text) == columns, "\(text.debugDescription)")
    }

    @Test func shortenedTextFitsAndEndsWithAnEllipsis() {
        #expect(TextWidth.cut("Example", to: 7) == "Example")
        #expect(TextWidth.cut("Example", to: 6) == "Examp…")
        #expect(TextWidth.cut("日本語", to: 5) == "日本…")
        #expect(TextWidth.cut("日本語", to: 4) == "日…")
        #expect(TextWidth.cut("日本語", to: 1) == "…")
        #expect(TextWidth.cut("日本語", to: 0) == "")
        #expect(TextWidth.cut("e\u{301}e\u{301}e\u{301}", to: 2) == "e\u{301}…")
        #expect(TextWidth.cutMiddle("Example Show/Episode 1.mp3", to: 15) == "Example…e 1.mp3")
        #expect(TextWidth.cutMiddle("日本語日本語.mp3", to: 11) == "日本…語.mp3")
        for width in 0...40 {
            let cut = TextWidth.cutMiddle("番組 Show/第１回 👩‍👩‍👧‍👦 e\u{301}pisode.mp3", to: width)
            #expect(TextWidth.columns(cut) <= width, "\(cut)")
        }
    }
}
