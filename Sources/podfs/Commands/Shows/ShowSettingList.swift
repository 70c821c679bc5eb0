import Platform
import PodcastLibrary
import PodcastService

/// The lines of `podfs set SHOW`: all settings of a show, with the values that apply.
enum ShowSettingList {
    /// Returns a line `KEY=VALUE` for each key, with ` (default)` where the show has no value of its own.
    ///
    /// - Parameter own: The show's own values.
    static func lines(_ own: [String: String], _ configuration: Configuration) -> [String] {
        ShowSettingKey.allCases.sorted { $0.rawValue < $1.rawValue }.map { key in
            own[key.rawValue].map { "\(key.rawValue)=\($0)" }
                ?? "\(key.rawValue)=\(general(key, configuration)) (default)"
        }
    }

    /// Returns the value that applies to shows without a value of their own; empty for none.
    private static func general(_ key: ShowSettingKey, _ configuration: Configuration) -> String {
        let rules = configuration.autoDownloadRules
        return switch key {
        case .rateLimit:
            configuration.transfers.rateLimit > 0 ? ByteText.rate(Double(configuration.transfers.rateLimit)) : "none"
        case .nameTemplate: configuration.names.template.text
        case .autoDownload: String(configuration.autoDownload)
        case .autoDownloadOrder: (rules.order ?? .newest).rawValue
        case .autoDownloadTitle: rules.title?.text ?? ""
        case .autoDownloadMinDuration: duration(rules.minDuration)
        case .autoDownloadMaxDuration: duration(rules.maxDuration)
        case .autoDownloadTypes: (rules.types ?? [.full]).map(\.rawValue).sorted().joined(separator: ",")
        case .keep: "\(configuration.keep)"
        case .userAgent: configuration.userAgent ?? "podfs/\(Podfs.version)"
        case .share: "false"
        case .archive: String(configuration.archive.archivesAll)
        case .tags, .prefer: ""
        }
    }

    private static func duration(_ seconds: Int64?) -> String { seconds.map(DurationText.text) ?? "" }
}
