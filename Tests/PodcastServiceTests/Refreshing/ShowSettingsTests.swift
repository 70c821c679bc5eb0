import PodcastLibrary
import Testing

@testable import PodcastService

extension ShowSettingChange {
    /// The message that refuses an assignment.
    static func refusal(of assignment: String) -> String {
        do throws(SettingError) {
            return "accepted: \(try Self(assignment))"
        } catch {
            return error.message
        }
    }
}

struct ShowSettingsTests {
    private func change(_ assignment: String) throws -> ShowSettingChange { try ShowSettingChange(assignment) }

    @Test func valuesAreReadAndKeptAsWritten() throws {
        let written = [
            "transfers.rate_limit=500 KiB", " names.template = {date} - {title} ", "auto_download=3",
            "keep=20 episodes",
            "user_agent=My/1.0 (a=b)", "prefer=<=96k",
        ]
        var stored: [String: String] = [:]
        for text in written {
            let change = try change(text)
            stored[change.key.rawValue] = change.value
        }
        #expect(stored["transfers.rate_limit"] == "500 KiB" && stored["names.template"] == "{date} - {title}")
        let settings = ShowSettings(stored: stored)
        #expect(settings.rateLimit == .bytesPerSecond(512_000))
        #expect(settings.nameTemplate == (try NameTemplate("{date} - {title}")))
        #expect(settings.autoDownload == 3 && settings.keep == .episodes(20))
        #expect(settings.userAgent == "My/1.0 (a=b)")
        #expect(settings.prefer == .atMost(96_000))
        #expect(ShowSettings(stored: [:]) == ShowSettings())
    }

    @Test(
        arguments: [
            ("500 KiB", 512_000), ("2 MB/s", 2_000_000), ("1.5 mib /s", 1_572_864), ("250000", 250_000), ("1", 1),
            ("1 GB/s", 1_000_000_000), ("None", nil),
        ] as [(String, Int64?)])
    func ratesMayHaveUnitsAndNoneLiftsTheGeneralLimit(text: String, bytes: Int64?) throws {
        let value = try #require(change("transfers.rate_limit=\(text)").value)
        let limit = ShowSettings(stored: ["transfers.rate_limit": value]).rateLimit
        #expect(limit == bytes.map { .bytesPerSecond($0) } ?? .unlimited)
    }

    @Test func anEmptyValueRemovesTheSetting() throws {
        for key in ShowSettingKey.allCases {
            #expect(try change("\(key.rawValue)=") == ShowSettingChange("\(key.rawValue) =  "))
            #expect(try change("\(key.rawValue)=").value == nil)
        }
    }

    @Test(arguments: [
        "transfers.rate_limit=0", "transfers.rate_limit=-1", "transfers.rate_limit=fast", "transfers.rate_limit=5 s",
        "transfers.rate_limit=1e30 TB", "transfers.rate_limit=99999999999999999999 TiB", "auto_download=-1",
        "auto_download=1.5", "auto_download=many", "auto_download=100001", "auto_download=99999999999999999999",
        "keep=20", "keep=forever", "names.template=plain", "names.template={title", "names.template={titel}",
        "user_agent=a\u{7}b", "user_agent=a\r\nX-Evil: 1", "names.template={title}\n{date}",
    ])
    func badValuesAreRefusedWithTheKeyAndTheAllowedValues(text: String) {
        let message = ShowSettingChange.refusal(of: text)
        let key = String(text.prefix { $0 != "=" })
        #expect(message.hasPrefix(key + "="), "\(message)")
        #expect(message.contains("expected ") || message.contains("template"), "\(message)")
        #expect(!message.unicodeScalars.contains { $0.properties.generalCategory == .control }, "\(message)")
    }

    @Test func aLongUserAgentIsRefused() throws {
        let long = "user_agent=" + String(repeating: "a", count: 513)
        #expect(ShowSettingChange.refusal(of: long).contains("at most 512 bytes"))
        #expect(try change("user_agent=" + String(repeating: "a", count: 512)).value?.count == 512)
    }

    @Test(arguments: [
        ("autodownload=3", "auto_download"), ("rate_limit=5", "transfers.rate_limit"), ("template=x", "names.template"),
        ("kep=all", "keep"), ("user-agent=x", "user_agent"), ("transfer.rate_limit=1", "transfers.rate_limit"),
    ])
    func anUnknownKeySuggestsTheNearestOne(text: String, nearest: String) {
        let key = text.prefix { $0 != "=" }
        #expect(ShowSettingChange.refusal(of: text) == "a show has no setting '\(key)'; did you mean '\(nearest)'?")
    }

    @Test func textWithoutAnEqualsSignIsNoSetting() {
        #expect(ShowSettingChange.refusal(of: "keep").contains("write KEY=VALUE"))
        #expect(ShowSettingChange.refusal(of: "=5").hasPrefix("a show has no setting ''"))
        let long = ShowSettingChange.refusal(of: String(repeating: "x", count: 10_000) + "\u{1B}[31m=1")
        #expect(long.count < 500 && long.contains("…"))
    }

    @Test func unreadableStoredSettingsAreReportedAndIgnored() {
        var problems: [String] = []
        let settings = ShowSettings(stored: ["keep": "all", "colour": "blue", "auto_download": "lots"]) {
            problems.append($0.message)
        }
        #expect(settings.keep == .all && settings.autoDownload == nil)
        #expect(problems.count == 2 && problems[0].contains("auto_download") && problems[1].contains("colour"))
    }
}
