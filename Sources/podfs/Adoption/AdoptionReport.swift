import Platform
import PodcastFeed
import PodcastLibrary

/// The number of files by decision.
struct AdoptionTally {
    private(set) var adopted = 0
    private(set) var failed = 0
    /// The files that are in the archive or downloaded already.
    private(set) var present: Int
    private(set) var duplicates = 0
    private(set) var unmatched = 0
    private(set) var unusable: Int
    /// The files that are not media.
    private(set) var others: Int

    mutating func count(_ decision: AdoptionDecision, hasFailed: Bool) {
        switch decision {
        case .adopt: if hasFailed { failed += 1 } else { adopted += 1 }
        case .present: present += 1
        case .duplicate: duplicates += 1
        case .ambiguous, .contradicted, .weak, .unknown: unmatched += 1
        case .unusable: unusable += 1
        }
    }
}

/// The output of `podfs adopt`: a line for each media file and a summary, or a JSON array.
struct AdoptionReport {
    let isJSON: Bool
    let isQuiet: Bool
    let isDryRun: Bool
    /// Whether an element of the JSON array has been written.
    private(set) var hasElement = false

    /// Prints the decision about a file.
    ///
    /// - Parameters:
    ///   - episode: The path `SHOW/EPISODE` of the decision's episode.
    ///   - failure: Why the file was not added to the archive although it matches.
    mutating func line(
        _ file: String, _ decision: AdoptionDecision, _ episode: String?, size: Int64? = nil, failure: String? = nil
    ) {
        if isJSON {
            let value = json(file, decision, episode, size: size, failure: failure)
            Terminal.write(json: hasElement ? ",\n " : "[")
            hasElement = true
            Terminal.write(json: String(decoding: value.encoded(pretty: false), as: UTF8.self))
        } else if let failure {
            Terminal.error("\(file): not adopted as '\(episode ?? "")': \(failure)")
        } else if !isQuiet {
            Terminal.print("\(file): \(text(decision, episode ?? "an episode"))")
        }
    }

    private func text(_ decision: AdoptionDecision, _ episode: String) -> String {
        switch decision {
        case .adopt(_, let confidence):
            "\(isDryRun ? "would be adopted" : "adopted") as '\(episode)' (\(confidence.evidence))"
        case .present: "'\(episode)' is downloaded already"
        case .duplicate(_, let path): "not adopted: '\(path)' is the better file of '\(episode)'"
        case .ambiguous(let ids, let evidence):
            "not adopted: \(ids.count) episodes fit equally well, such as '\(episode)' (\(evidence))"
        case .contradicted(_, let evidence, let contradiction):
            "not adopted: it may be '\(episode)' (\(evidence)), but \(contradiction)"
        case .weak(_, let evidence): "not adopted: only a little suggests '\(episode)' (\(evidence))"
        case .unknown: "not adopted: no episode of a subscribed show fits"
        case .unusable(let reason): "not adopted: \(reason)"
        }
    }

    func end(_ tally: AdoptionTally, marks: (played: Int, positions: Int)) {
        if isJSON { return Terminal.print(json: hasElement ? "]" : "[]") }
        guard !isQuiet else { return }
        var parts = ["\(ReportText.count(tally.adopted, "file")) \(isDryRun ? "would be adopted" : "adopted")"]
        if tally.failed > 0 { parts.append("\(tally.failed) failed") }
        if tally.present > 0 { parts.append("\(tally.present) downloaded already") }
        if tally.duplicates > 0 { parts.append(ReportText.count(tally.duplicates, "duplicate")) }
        if tally.unmatched > 0 { parts.append("\(tally.unmatched) not matched") }
        if tally.unusable > 0 { parts.append("\(tally.unusable) not usable") }
        if tally.others > 0 { parts.append("\(ReportText.count(tally.others, "other file")) ignored") }
        Terminal.print(parts.joined(separator: ", "))
        if marks.played + marks.positions > 0 {
            Terminal.print(
                "\(ReportText.count(marks.played, "played mark")) and \(ReportText.count(marks.positions, "position")) "
                    + (isDryRun ? "would be taken over" : "taken over"))
        }
    }

    // MARK: JSON

    private func json(
        _ file: String, _ decision: AdoptionDecision, _ episode: String?, size: Int64?, failure: String?
    ) -> OrderedJSON {
        let (result, evidence, reason, isCertain) = parts(decision)
        return .object([
            ("file", .string(file)), ("size", .int(orNull: size)),
            ("result", .string(failure != nil ? "failed" : result)), ("episode", .string(orNull: episode)),
            ("evidence", .string(orNull: evidence)), ("certain", isCertain.map { .bool($0) } ?? .null),
            ("reason", .string(orNull: failure ?? reason)),
        ])
    }

    private func parts(
        _ decision: AdoptionDecision
    ) -> (result: String, evidence: String?, reason: String?, isCertain: Bool?) {
        switch decision {
        case .adopt(_, let confidence):
            (isDryRun ? "matched" : "adopted", confidence.evidence, nil, confidence.isCertain)
        case .present: ("present", nil, nil, nil)
        case .duplicate(_, let path): ("duplicate", nil, path, nil)
        case .ambiguous(_, let evidence): ("ambiguous", evidence, nil, nil)
        case .contradicted(_, let evidence, let contradiction): ("contradicted", evidence, contradiction, nil)
        case .weak(_, let evidence): ("weak", evidence, nil, nil)
        case .unknown: ("unknown", nil, nil, nil)
        case .unusable(let reason): ("unusable", nil, reason, nil)
        }
    }
}
