internal import Foundation
package import PodcastLibrary

/// The rules that select the episodes of a show for automatic downloads. A property that is `nil` stands
/// for the general setting.
package struct AutoDownloadRules: Sendable, Equatable {
    /// The order in which episodes are selected.
    package enum Order: String, Sendable, CaseIterable {
        /// The newest episodes first.
        case newest
        /// The unplayed episodes, oldest first, without those older than the newest episode that is played or in
        /// progress. Suits serials.
        case oldestUnplayed = "oldest_unplayed"
    }

    /// The types that feeds distinguish (`itunes:episodeType`).
    package enum EpisodeType: String, Sendable, CaseIterable {
        case full, trailer, bonus
    }

    /// The error thrown for a value that is not allowed. The message says which values are allowed.
    package struct Rejection: Error {
        package let message: String
    }

    package private(set) var order: Order?
    /// The pattern that titles have to match.
    package private(set) var title: TitlePattern?
    /// The bounds of the duration in seconds, both inclusive.
    package private(set) var minDuration: Int64?
    package private(set) var maxDuration: Int64?
    /// The types of the episodes to select. If the general setting is also `nil`: full episodes only, or all types
    /// while the show has no full episode.
    package private(set) var types: Set<EpisodeType>?

    package init() {}

    /// Returns these rules, with the properties that are `nil` replaced by those of `general`.
    package func completed(by general: AutoDownloadRules) -> AutoDownloadRules {
        var rules = self
        rules.order = order ?? general.order
        rules.title = title ?? general.title
        rules.minDuration = minDuration ?? general.minDuration
        rules.maxDuration = maxDuration ?? general.maxDuration
        rules.types = types ?? general.types
        return rules
    }

    /// Sets the value of one of the keys `auto_download_…`; other keys are ignored.
    package mutating func set(_ key: ShowSettingKey, _ value: String) throws(Rejection) {
        switch key {
        case .autoDownloadOrder:
            guard let order = Order(rawValue: value.lowercased()) else {
                throw Rejection(message: "newest or oldest_unplayed")
            }
            self.order = order
        case .autoDownloadTitle:
            do throws(ViewError) {
                title = try TitlePattern(value)
            } catch {
                throw Rejection(message: "a regular expression, but \(error.message)")
            }
        case .autoDownloadMinDuration: minDuration = try Self.seconds(value)
        case .autoDownloadMaxDuration: maxDuration = try Self.seconds(value)
        case .autoDownloadTypes:
            let types = value.lowercased().split(separator: ",").map {
                EpisodeType(rawValue: $0.trimmingCharacters(in: .whitespaces))
            }
            guard !types.isEmpty, types.allSatisfy({ $0 != nil }) else {
                throw Rejection(message: "a list of full, trailer and bonus")
            }
            self.types = Set(types.compactMap(\.self))
        case .autoDownload, .rateLimit, .nameTemplate, .keep, .userAgent, .tags, .prefer, .share, .archive: break
        }
    }

    private static func seconds(_ value: String) throws(Rejection) -> Int64 {
        guard let seconds = DurationText.seconds(value) else { throw Rejection(message: DurationText.forms) }
        return seconds
    }
}
