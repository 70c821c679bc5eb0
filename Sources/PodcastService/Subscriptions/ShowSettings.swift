internal import Foundation
internal import Platform
package import PodcastLibrary

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
    package init(_ assignment: String) throws(SettingError) {
        try self.init(
            try Assignment(
                assignment, example: "such as auto_download=3, or KEY= to remove the show's own setting"))
    }

    /// Creates a change after validating the value.
    init(_ assignment: Assignment) throws(SettingError) {
        guard let key = ShowSettingKey(rawValue: assignment.key) else { throw Self.unknown(assignment.key) }
        self.key = key
        value = assignment.value.isEmpty ? nil : assignment.value
        var settings = ShowSettings()
        if value != nil { try settings.set(key, assignment) }
    }

    private static func unknown(_ key: String) -> SettingError {
        let keys = ShowSettingKey.allCases.map(\.rawValue)
        let guess = LikelyName.nearest(to: String(key.prefix(64)), in: keys).map { "; did you mean '\($0)'?" }
        return SettingError(
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
    package init(stored: [String: String], problem: (SettingError) -> Void = { _ in }) {
        for (key, value) in stored.sorted(by: { $0.key < $1.key }) {
            do throws(SettingError) {
                let assignment = Assignment(key: key, value: value)
                try set(try ShowSettingChange(assignment).key, assignment)
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

    mutating func set(_ key: ShowSettingKey, _ new: Assignment) throws(SettingError) {
        switch key {
        case .rateLimit:
            if new.value.lowercased() == "none" { return rateLimit = .unlimited }
            guard let bytes = SettingText.bytes(new.value, suffix: "/s"), bytes > 0 else {
                throw new.refused(
                    "a rate of at least 1 byte per second, such as \"500 KiB\", \"2 MB/s\" or 250000, or \"none\"")
            }
            rateLimit = .bytesPerSecond(bytes)
        case .nameTemplate:
            let text = try new.line()
            do {
                nameTemplate = try NameTemplate(text)
            } catch {
                throw new.error("cannot be set: \(error)")
            }
        case .autoDownload: autoDownload = try new.number(in: Self.counts)
        case .autoDownloadOrder, .autoDownloadTitle, .autoDownloadMinDuration, .autoDownloadMaxDuration,
            .autoDownloadTypes:
            try autoDownloadRules.set(key, new)
        // The library stores tags separately; here they are only validated.
        case .tags: _ = try Tag.list(new.value)
        case .keep:
            guard let keep = Keep(new.value) else { throw new.refused(Keep.forms) }
            self.keep = keep
        case .userAgent: userAgent = try new.line(limit: Self.longestUserAgent)
        case .prefer:
            guard let preference = MediaPreference(new.value) else { throw new.refused(MediaPreference.forms) }
            prefer = preference
        // The library reads the value; here it is only validated.
        case .share, .archive: guard ["true", "false"].contains(new.value) else { throw new.refused("true or false") }
        }
    }
}

/// Parsing of numbers with units in settings. Pure.
package enum SettingText {
    /// Multipliers of units: powers of ten for SI prefixes, powers of two for those of IEC 80000-13. The keys are in
    /// lower case because case is ignored; that is unambiguous, since no size is in bits.
    private static let sizes: [String: Double] = [
        "": 1, "b": 1, "byte": 1, "bytes": 1,
        "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
        "kib": 0x1p10, "mib": 0x1p20, "gib": 0x1p30, "tib": 0x1p40,
    ]

    /// Parses a size such as `"500 KiB"`, `"2 MB"` or `"1024"` into bytes; `nil` if invalid or beyond 64 bits.
    ///
    /// - Parameter suffix: an allowed suffix of the unit in lower case, such as `/s`.
    package static func bytes(_ text: String, suffix: String = "") -> Int64? {
        guard let (number, unit) = numberAndUnit(text) else { return nil }
        let name = unit.hasSuffix(suffix) ? String(unit.dropLast(suffix.count)) : unit
        return bytes(number, unit: name.trimmingCharacters(in: .whitespaces))
    }

    /// Converts a number with a unit in lower case into bytes; `nil` for an unknown unit, or beyond 64 bits.
    package static func bytes(_ number: Double, unit: String) -> Int64? {
        guard let factor = sizes[unit] else { return nil }
        return Int64(exactly: (number * factor).rounded())
    }

    /// Parses `"1.5 GiB"` into 1.5 and `gib`. Accepts neither signs nor exponents.
    package static func numberAndUnit(_ text: String) -> (number: Double, unit: String)? {
        let text = text.trimmingCharacters(in: .whitespaces)
        let digits = text.prefix { $0.isASCII && $0.isNumber || $0 == "." }
        guard let number = Double(digits), number.isFinite else { return nil }
        let unit = text.dropFirst(digits.count).trimmingCharacters(in: .whitespaces)
        return (number, unit.lowercased())
    }
}
