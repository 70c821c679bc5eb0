import Platform
import Testing

@Suite struct GregorianDayTests {
    @Test(
        arguments: [
            ("1970-01-01", 0), ("1969-12-31", -1), ("2000-02-29", 11_016), ("2026-11-20", 20_777),
            ("0001-01-01", -719_162),
            ("9999-12-31", 2_932_896),
        ] as [(String, Int64)])
    func dayHasItsNumber(text: String, number: Int64) throws {
        let parts = text.split(separator: "-").compactMap { Int($0) }
        let day = try #require(GregorianDay(year: parts[0], month: parts[1], day: parts[2]))
        #expect(day.number == number)
        #expect(GregorianDay(number: number)?.description == text)
    }

    @Test func everyDayOfFourCenturiesFollowsTheOneBefore() throws {
        let first = try #require(GregorianDay(year: 1900, month: 1, day: 1))
        var (year, month, day) = (1900, 1, 1)
        for number in first.number..<first.number + 146_097 {
            let date = try #require(GregorianDay(number: number))
            #expect(date.components == (year, month, day))
            #expect(GregorianDay(year: year, month: month, day: day)?.number == number)
            #expect(date.weekday == (Int(number - first.number)) % 7)  // 1900 began on a Monday.
            day += 1
            if GregorianDay(year: year, month: month, day: day) == nil { (month, day) = (month + 1, 1) }
            if month == 13 { (year, month) = (year + 1, 1) }
        }
        #expect((year, month, day) == (2300, 1, 1))
    }

    @Test func invalidDatesAreRejected() {
        for (year, month, day) in [
            (2023, 2, 29), (1900, 2, 29), (2024, 0, 1), (2024, 13, 1), (2024, 4, 31), (0, 1, 1), (10_000, 1, 1),
        ] {
            #expect(GregorianDay(year: year, month: month, day: day) == nil)
        }
        #expect(GregorianDay(number: .max) == nil && GregorianDay(number: .min) == nil)
    }
}
