import Testing

@testable import PodcastFeed

/// Dates as publishers around the world write them.
@Suite struct DateTests {
    private static func read(_ text: String) -> (date: String?, offset: Int?, assumption: String?) {
        var text = text
        let read = text.withUTF8 { PublicationDate.read($0) }
        return (read?.date.iso8601, read?.date.offset, read?.assumption)
    }

    /// The fifth of March 2024, a Tuesday, in the languages of the European Union and its neighbors, in Japanese,
    /// Korean and Chinese, and in digits.
    @Test(arguments: [
        "вт, 05 март 2024", "úterý 5. března 2024", "tirsdag 5. marts 2024", "Dienstag, 5. März 2024", "5. Maerz 2024",
        "Τρίτη 5 Μαρτίου 2024", "Tuesday 5th of March 2024", "martes, 5 de marzo de 2024", "teisipäev, 5. märts 2024",
        "tiistai 5. maaliskuuta 2024", "mar. 5 mars 2024", "mardi 5 mars 2024", "Dé Máirt 5 Márta 2024",
        "utorak, 5. ožujka 2024.", "2024. március 5., kedd", "martedì 5 marzo 2024", "2024 m. kovo 5 d.",
        "otrdiena, 2024. gada 5. marts", "it-Tlieta, 5 ta’ Marzu 2024", "dinsdag 5 maart 2024", "wtorek, 5 marca 2024",
        "terça-feira, 5 de março de 2024", "marți, 5 martie 2024", "utorok 5. marca 2024", "torek, 05. marec 2024",
        "tisdag 5 mars 2024", "вторник, 5 марта 2024 г.", "вівторок, 5 березня 2024 р.", "5 Mart 2024 Salı",
        "2024年3月5日(火)", "2024年3月5日 火曜日", "2024년 3월 5일 화요일", "2024年3月5日星期二", "2024/03/05", "５ Mar ２０２４",
    ])
    func dayIsReadInEveryLanguage(text: String) {
        let found = Self.read(text)
        #expect(found.date == "2024-03-05T00:00:00Z", "\(text)")
        #expect(found.assumption == nil, "\(text)")
    }

    @Test(
        arguments: [
            ("5 Mar 2024 15.04.05 +0100", "2024-03-05T14:04:05Z"), ("5. März 2024, 15.04 Uhr", "2024-03-05T15:04:00Z"),
            ("Tue, 5 Mar 2024 1504 UT", "2024-03-05T15:04:00Z"), ("5 mars 2024 à 15h04", "2024-03-05T15:04:00Z"),
            ("2024年3月5日 午後3時4分", "2024-03-05T15:04:00Z"), ("2024年3月5日下午3:04:05", "2024-03-05T15:04:05Z"),
            ("2024년 3월 5일 오후 3시 4분 5초", "2024-03-05T15:04:05Z"), ("2024. 3. 5. 오전 3:04", "2024-03-05T03:04:00Z"),
            ("Tue, 5 Mar 2024 15:04:05 \u{2212}0500", "2024-03-05T20:04:05Z"),
            ("2024\u{2013}03\u{2013}05T15:04:05\u{2013}05:00", "2024-03-05T20:04:05Z"),
            ("5 Mar 2024 3:04 p.m.", "2024-03-05T15:04:00Z"), ("5 Mar 2024 3:04\u{202F}PM", "2024-03-05T15:04:00Z"),
            ("вт, 5 мар 2024 15:04:05 МСК", "2024-03-05T12:04:05Z"),
        ])
    func timeIsReadInEveryForm(text: String, date: String) {
        let found = Self.read(text)
        #expect(found.date == date, "\(text)")
        #expect(found.assumption == nil, "\(text)")
    }

    @Test(
        arguments: [
            ("Tue, 5 Mar 2024 15:04:05 ET", "2024-03-05T20:04:05Z", -18_000),
            ("Tue, 9 Jul 2024 15:04:05 ET", "2024-07-09T19:04:05Z", -14_400),
            ("Tue, 9 Jul 2024 15:04:05 CT", "2024-07-09T20:04:05Z", -18_000),
            ("Tue, 9 Jul 2024 15:04:05 MT", "2024-07-09T21:04:05Z", -21_600),
            ("Tue, 9 Jul 2024 15:04:05 PT", "2024-07-09T22:04:05Z", -25_200),
            ("Sun, 10 Mar 2024 03:00:00 ET", "2024-03-10T07:00:00Z", -14_400),
            ("Sun, 10 Mar 2024 01:59:59 ET", "2024-03-10T06:59:59Z", -18_000),
            ("2024-07-09 15:04:05 Europe/Berlin", "2024-07-09T13:04:05Z", 7_200),
            ("2024-01-09T15:04:05[Europe/Berlin]", "2024-01-09T14:04:05Z", 3_600),
            ("2024-01-09 15:04:05 Australia/Sydney", "2024-01-09T04:04:05Z", 39_600),
            ("2024-07-09 15:04:05 Asia/Kolkata", "2024-07-09T09:34:05Z", 19_800),
            ("2024-07-09 15:04:05 America/Argentina/Buenos_Aires", "2024-07-09T18:04:05Z", -10_800),
            ("2024-07-09 15:04:05 Mars/Phobos", "2024-07-09T15:04:05Z", 0),
            ("Tue, 9 Jul 2024 15:04:05 XYZT", "2024-07-09T15:04:05Z", 0),
            ("Tue, 9 Jul 2024 15:04:05 +9900", "2024-07-09T15:04:05Z", 0),
            ("niedziela, 5 lip 2020", "2020-07-05T00:00:00Z", 0), ("nedjelja 5 lis 2025", "2025-10-05T00:00:00Z", 0),
        ] as [(String, String, Int)])
    func aGuessIsReportedAsAnAssumption(text: String, date: String, offset: Int) {
        let found = Self.read(text)
        #expect(found.date == date && found.offset == offset, "\(text)")
        #expect(found.assumption != nil, "\(text)")
    }

    @Test(arguments: [
        "5 lip 2020", "2024年13月5日", "5 Foo 2024 10:00", "99時 2024年3月5日", "2024-03-05 25.00.00", "Tuesday", "ET", "週末",
        "5 Mar 2024 99h99", String(repeating: "年", count: 60), "Europe/Berlin",
    ])
    func textWithoutADayIsNotADate(text: String) {
        #expect(Self.read(text).date == nil, "\(text)")
    }
}
