internal import Foundation
package import PodcastLibrary
package import PodcastProtocol
internal import Transfers

/// The downloads and evictions that the setting `auto_download` requires for a show. The episodes that the rules select
/// are downloaded, unless they are declined, played or not available. Other automatic downloads are cancelled or
/// evicted, unless they are protected (`RetainedEpisode.isProtected`). Pure. `enqueue`, `cancel` and `evict` are in
/// listing order, newest first.
package struct AutoDownload: Sendable, Equatable {
    /// The reason why an episode is or is not downloaded automatically.
    package enum Reason: String, Sendable, CaseIterable {
        /// It is to be downloaded.
        case wanted
        /// It is cached already.
        case cached
        /// `auto_download` is 0.
        case off
        case notListed = "not_listed"
        /// It is to be removed from the library (`EpisodeRemovals`), usually by the setting `keep`.
        case keep
        case type
        case title
        case duration
        /// Enough other episodes come before it in the order of the rules.
        case beyond
        case played
        /// It is older than the newest episode that was heard.
        case olderThanHeard = "before"
        /// A person has cancelled its download or evicted it.
        case declined
        /// The server has no media for it.
        case gone
        /// It is not a file but a stream.
        case stream
    }

    /// Downloads to start, as discretionary work.
    package let enqueue: [EpisodeID]
    /// Incomplete automatic downloads that are no longer wanted: those with a task or with cached bytes.
    package let cancel: [EpisodeID]
    /// Complete automatic downloads that are no longer wanted.
    package let evict: [EpisodeID]
    /// The reason for each episode.
    package let reasons: [EpisodeID: Reason]

    /// - Parameters:
    ///   - episodes: all episodes of the show.
    ///   - count: the value of `auto_download`, the maximum number of selected episodes. If it is 0 (off), no download
    ///     starts, and incomplete automatic downloads are cancelled. Complete ones stay until the cache needs the
    ///     space, since turning the setting off does not ask for a deletion.
    ///   - rules: the rules that select episodes.
    ///   - keep: the show's setting `keep`, which selects the episodes that stay in the library. Episodes that it would
    ///     remove are not fetched.
    package init(
        _ episodes: [RetainedEpisode], newest count: Int, rules: AutoDownloadRules = AutoDownloadRules(), keep: Keep,
        now: Int64
    ) {
        var reasons: [EpisodeID: Reason] = [:]
        let newestFirst = episodes.sorted(by: RetainedEpisode.isNewer)
        let wanted = Set(Self.select(newestFirst, count, rules, keep: keep, now: now, &reasons))
        var enqueue: [EpisodeID] = []
        for episode in newestFirst where wanted.contains(episode.id) {
            let reason = Self.exclusionReason(of: episode) ?? .wanted
            reasons[episode.id] = reason
            if reason == .wanted, !episode.hasTask { enqueue.append(episode.id) }
        }
        let surplus = newestFirst.filter { $0.isAutomatic && !wanted.contains($0.id) && !$0.isProtected }
        self.enqueue = enqueue
        cancel = surplus.filter { !$0.complete && ($0.hasTask || $0.cachedBytes > 0) }.map(\.id)
        evict = count > 0 ? surplus.filter(\.complete).map(\.id) : []
        self.reasons = reasons
    }

    /// Returns the episodes that the rules select, in the rules' order; sets the reasons of all others.
    ///
    /// Declined episodes are selected, too. So an episode whose download a person cancels or evicts is not replaced by
    /// another one.
    private static func select(
        _ episodes: [RetainedEpisode], _ count: Int, _ rules: AutoDownloadRules, keep: Keep, now: Int64,
        _ reasons: inout [EpisodeID: Reason]
    ) -> [EpisodeID] {
        guard count > 0 else {
            for episode in episodes { reasons[episode.id] = episode.complete ? .cached : .off }
            return []
        }
        let leaving = Set(keep.removals(from: episodes, now: now))
        let present = episodes.filter { episode in
            if !episode.listed { reasons[episode.id] = .notListed }
            if leaving.contains(episode.id) { reasons[episode.id] = .keep }
            return episode.listed && !leaving.contains(episode.id)
        }
        let hasFull = present.contains { $0.kind == .full }
        var matching = present.filter { episode in
            // Without a rule for types only full episodes match, so that a trailer does not take the place of a full
            // episode. If the show has no full episode yet, all types match.
            let isType = rules.types?.contains(episode.kind) ?? (!hasFull || episode.kind == .full)
            let reason = isType ? rules.exclusionReason(of: episode) : .type
            if let reason { reasons[episode.id] = reason }
            return reason == nil
        }
        if rules.order == .oldestUnplayed {
            matching.reverse()
            if let last = matching.lastIndex(where: \.isHeard) {
                for episode in matching[..<last] { reasons[episode.id] = episode.played ? .played : .olderThanHeard }
                matching.removeFirst(last)
            }
            matching.removeAll { episode in
                if episode.played { reasons[episode.id] = .played }
                return episode.played
            }
        }
        for episode in matching.dropFirst(count) { reasons[episode.id] = .beyond }
        return matching.prefix(count).map(\.id)
    }

    /// Returns why a selected episode is not to be downloaded; `nil` if it is.
    private static func exclusionReason(of episode: RetainedEpisode) -> Reason? {
        if episode.complete { return .cached }
        if episode.isDeclined { return .declined }
        // A played episode is not fetched again.
        if episode.played { return .played }
        if episode.isStream { return .stream }
        return episode.isMediaGone ? .gone : nil
    }
}

extension AutoDownload {
    /// Returns why each episode of a show is or is not downloaded automatically, for display.
    ///
    /// `count`, `rules` and `keep` are the general settings; the show's own take precedence.
    package static func reasons(
        of show: ShowID, in library: Library, count: Int, rules: AutoDownloadRules, keep: Keep, now: Int64
    ) throws -> [EpisodeID: Reason] {
        let settings = ShowSettings(stored: try library.settings(of: show))
        return AutoDownload(
            try RetainedEpisode.all(of: show, in: library).filter { !$0.isBuried },
            newest: settings.autoDownload ?? count, rules: settings.autoDownloadRules.completed(by: rules),
            keep: settings.keep ?? keep, now: now
        ).reasons
    }
}

extension RetainedEpisode {
    static func all(of show: ShowID, in library: Library) throws -> [RetainedEpisode] {
        try library.retainedEpisodes(of: show, goneError: Int(TransferError(.missing, "").errorNumber))
    }

    fileprivate var kind: AutoDownloadRules.EpisodeType { type.flatMap(AutoDownloadRules.EpisodeType.init) ?? .full }

    /// Whether it was played, or its position has reached `ListeningRules.inProgress`.
    fileprivate var isHeard: Bool { played || position ?? 0 >= ListeningRules.inProgress }
}

extension AutoDownloadRules {
    /// Returns the rule that excludes an episode; `nil` if none does. An unknown duration is outside every bound.
    fileprivate func exclusionReason(of episode: RetainedEpisode) -> AutoDownload.Reason? {
        if let title, !title.matches(episode.title) { return .title }
        guard minDuration != nil || maxDuration != nil else { return nil }
        guard let duration = episode.duration, duration >= Double(minDuration ?? 0),
            duration <= maxDuration.map(Double.init) ?? .infinity
        else { return .duration }
        return nil
    }
}

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
