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
    package mutating func set(_ key: ShowSettingKey, _ new: Assignment) throws(SettingError) {
        switch key {
        case .autoDownloadOrder: order = try new.choice()
        case .autoDownloadTitle: title = try new.pattern()
        case .autoDownloadMinDuration: minDuration = try new.seconds()
        case .autoDownloadMaxDuration: maxDuration = try new.seconds()
        case .autoDownloadTypes:
            let types = new.value.lowercased().split(separator: ",").map {
                EpisodeType(rawValue: $0.trimmingCharacters(in: .whitespaces))
            }
            guard !types.isEmpty, !types.contains(nil) else { throw new.refused("a list of full, trailer and bonus") }
            self.types = Set(types.compactMap(\.self))
        default: break
        }
    }
}
