internal import Foundation
internal import Platform
package import PodcastLibrary

/// The rejection of a show's setting: one line with the key, the value, and the allowed values.
package struct ShowSettingError: Error, Sendable, Equatable, CustomStringConvertible {
    package let message: String
    package var description: String { message }
}

/// The key of a show's setting, as in `podfs set SHOW KEY=VALUE`.
package enum ShowSettingKey: String, CaseIterable, Sendable {
    case rateLimit = "transfers.rate_limit"
    case nameTemplate = "names.template"
    case autoDownload = "auto_download"
    case autoDownloadOrder = "auto_download_order"
    case autoDownloadTitle = "auto_download_title"
    case autoDownloadMinDuration = "auto_download_min_duration"
    case autoDownloadMaxDuration = "auto_download_max_duration"
    case autoDownloadTypes = "auto_download_types"
    case tags
    case keep = "keep"
    case userAgent = "user_agent"
    case prefer = "prefer"
    case share
    case archive
}

/// A validated `KEY=VALUE`.
package struct ShowSettingChange: Sendable, Equatable {
    package let key: ShowSettingKey
    /// The value as stored; `nil` removes the show's own setting, so that the configuration file's applies.
    package let value: String?

    /// Parses `KEY=VALUE`; an empty value removes the setting.
    ///
    /// A value may contain equals signs. White space around key and value is trimmed.
    package init(_ assignment: String) throws(ShowSettingError) {
        guard let equals = assignment.firstIndex(of: "=") else {
            throw ShowSettingError(
                message: "'\(PlainText.excerpt(assignment))' is not a setting: write KEY=VALUE, such as "
                    + "auto_download=3, or KEY= to remove the show's own setting")
        }
        let key = assignment[..<equals].trimmingCharacters(in: .whitespaces)
        let value = assignment[assignment.index(after: equals)...].trimmingCharacters(in: .whitespacesAndNewlines)
        try self.init(key: key, value: value)
    }

    /// Creates a change after validating the value; an empty value removes the setting.
    package init(key: String, value: String) throws(ShowSettingError) {
        guard let known = ShowSettingKey(rawValue: key) else { throw Self.unknown(key) }
        self.key = known
        guard !value.isEmpty else {
            self.value = nil
            return
        }
        var settings = ShowSettings()
        try settings.set(known, value)
        self.value = value
    }

    private static func unknown(_ key: String) -> ShowSettingError {
        let keys = ShowSettingKey.allCases.map(\.rawValue)
        let guess = LikelyName.nearest(to: String(key.prefix(64)), in: keys).map { "; did you mean '\($0)'?" }
        return ShowSettingError(
            message: "a show has no setting '\(PlainText.excerpt(key))'"
                + (guess ?? "; there are \(keys.joined(separator: ", "))"))
    }
}

/// A show's own settings. `nil` means the configuration file's value.
package struct ShowSettings: Sendable, Equatable {
    /// A show's rate limit.
    package enum RateLimit: Sendable, Equatable {
        /// No limit for this show, whatever the configuration file says.
        case unlimited
        case bytesPerSecond(Int64)
    }

    package private(set) var rateLimit: RateLimit?
    package private(set) var nameTemplate: NameTemplate?
    package private(set) var autoDownload: Int?
    package private(set) var keep: Keep?
    package private(set) var userAgent: String?
    package private(set) var prefer: MediaPreference?
    package private(set) var autoDownloadRules = AutoDownloadRules()

    package init() {}

    /// Parses the result of `Library.settings(of:)`.
    ///
    /// - Parameter problem: called for each invalid entry, such as one that a newer podfs has written. The entry is
    ///   ignored.
    package init(stored: [String: String], problem: (ShowSettingError) -> Void = { _ in }) {
        for (key, value) in stored.sorted(by: { $0.key < $1.key }) {
            do throws(ShowSettingError) {
                let change = try ShowSettingChange(key: key, value: value)
                if let value = change.value { try set(change.key, value) }
            } catch {
                problem(error)
            }
        }
    }

    /// Allowed values of `auto_download`. The configuration file has the same upper bound: the maximum number of items
    /// in a feed.
    private static let counts = 0...100_000

    /// Maximum length of a User-Agent in bytes. Servers accept at most about 8 KiB for all header fields together.
    private static let longestUserAgent = 512

    mutating func set(_ key: ShowSettingKey, _ value: String) throws(ShowSettingError) {
        switch key {
        case .rateLimit:
            if value.lowercased() == "none" {
                rateLimit = .unlimited
            } else {
                guard let bytes = SettingText.bytes(value, suffix: "/s"), bytes > 0 else {
                    throw Self.refused(
                        key, value,
                        "a rate of at least 1 byte per second, such as \"500 KiB\", \"2 MB/s\" or 250000, "
                            + "or \"none\"")
                }
                rateLimit = .bytesPerSecond(bytes)
            }
        case .nameTemplate:
            guard !Self.hasControl(value) else { throw Self.refused(key, value, "text on one line") }
            do {
                nameTemplate = try NameTemplate(value)
            } catch {
                throw ShowSettingError(message: "\(key.rawValue)='\(PlainText.excerpt(value))': \(error)")
            }
        case .autoDownload:
            guard value.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int(value),
                Self.counts.contains(count)
            else {
                throw Self.refused(
                    key, value,
                    "how many of the newest episodes are to be downloaded, a whole number from "
                        + "\(Self.counts.lowerBound) to \(Self.counts.upperBound)")
            }
            autoDownload = count
        case .autoDownloadOrder, .autoDownloadTitle, .autoDownloadMinDuration, .autoDownloadMaxDuration,
            .autoDownloadTypes:
            do {
                try autoDownloadRules.set(key, value)
            } catch {
                throw Self.refused(key, value, error.message)
            }
        // The library stores tags separately; here they are only validated.
        case .tags:
            do throws(ViewError) {
                _ = try Tag.list(value)
            } catch {
                throw ShowSettingError(message: "tags='\(PlainText.excerpt(value))': \(error.message)")
            }
        case .keep:
            guard let keep = Keep(value) else { throw Self.refused(key, value, Keep.forms) }
            self.keep = keep
        case .userAgent:
            guard !Self.hasControl(value), value.utf8.count <= Self.longestUserAgent else {
                throw Self.refused(key, value, "text on one line, at most \(Self.longestUserAgent) bytes")
            }
            userAgent = value
        case .prefer:
            guard let preference = MediaPreference(value) else { throw Self.refused(key, value, MediaPreference.forms) }
            prefer = preference
        // The library reads the value; here it is only validated.
        case .share, .archive:
            guard ["true", "false"].contains(value) else { throw Self.refused(key, value, "true or false") }
        }
    }

    /// Returns whether the value has control characters, which could inject a header field.
    private static func hasControl(_ value: String) -> Bool {
        value.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }

    private static func refused(_ key: ShowSettingKey, _ value: String, _ allowed: String) -> ShowSettingError {
        ShowSettingError(
            message: "\(key.rawValue)='\(PlainText.excerpt(value))' cannot be set: expected \(allowed)")
    }
}
