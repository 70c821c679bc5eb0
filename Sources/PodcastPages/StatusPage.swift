internal import TransferCore

/// The page of active tasks, `.status.html`, which reloads itself.
package struct StatusPage: Sendable {
    private let report: StatusReport
    private let rates: [Double]

    /// - Parameter rates: The total rate in bytes per second for each of the last seconds, newest last.
    package init(_ report: StatusReport, rates: [Double]) {
        self.report = report
        self.rates = rates.map { $0.isFinite ? max(0, $0) : 0 }
    }

    /// The seconds between two reloads, with and without active tasks.
    private static let pace = (busy: 2, idle: 10)

    package var bytes: [UInt8] {
        var page = PageText()
        let isBusy = !report.tasks.isEmpty
        let pace = report.tasks.contains { $0.state != .failed } ? Self.pace.busy : Self.pace.idle
        page.begin(
            title: isBusy ? "\(summary.joined(separator: ", ")) – podfs" : "No active tasks – podfs", kind: "status",
            policy: PageStyle.policy, refresh: pace)
        page.add("<nav><a href=\"index.html\">All shows</a></nav>\n<header><h1>Transfers</h1>")
        page.add("<p class=\"facts line\">")
        for part in isBusy ? summary : ["no active tasks"] { page.add("<span>\(part)</span>") }
        page.add("</p></header>\n<main>\n")
        if isBusy || rates.contains(where: { $0 > 0 }) { addPlot(to: &page) }
        if isBusy {
            page.add("<ul class=\"tasks\">\n")
            for task in report.tasks { add(task, to: &page) }
            page.add("</ul>\n")
        } else {
            page.add(
                "<p class=\"none\">Nothing is being transferred. What is played or downloaded shows up here.</p>\n")
        }
        page.add("</main>\n")
        page.end()
        return page.bytes
    }

    private var summary: [String] {
        report.counts.compactMap { $0.count > 0 ? "\($0.count) \($0.state.rawValue)" : nil }
    }

    // MARK: Plot

    /// The height of the drawing, in its own units.
    private static let height = 40.0

    private func addPlot(to page: inout PageText) {
        let peak = rates.max() ?? 0
        page.add("<figure class=\"plot\"><figcaption class=\"facts\">")
        page.add("<strong>\(ByteText.rate(report.rate))</strong>")
        if peak > 0, rates.count > 1 {
            page.add("peak \(ByteText.rate(peak)) in the last \(rates.count) seconds</figcaption>\n")
            page.add("<svg viewBox=\"0 0 \(rates.count - 1) \(Int(Self.height))\" preserveAspectRatio=\"none\" ")
            page.add("role=\"img\" aria-label=\"The rate of the last \(rates.count) seconds\">")
            let curve = rates.enumerated().map { index, rate in
                // Leaves space for the stroke at the top; zero lies on the bottom line.
                let y = Self.height - rate / peak * (Self.height - 1)
                return "\(index) \((y * 100).rounded() / 100)"
            }.joined(separator: "L")
            let end = "\(rates.count - 1) \(Int(Self.height))"
            page.add("<path class=\"area\" d=\"M\(curve)L\(end)L0 \(Int(Self.height))Z\"/>")
            page.add("<path class=\"curve\" d=\"M\(curve)\"/></svg>")
        } else {
            page.add("</figcaption>")
        }
        page.add("</figure>\n")
    }

    // MARK: Tasks

    /// Kinds of tasks whose path starts with a show.
    private static let aboutShows: Set = ["download", "refresh", "artwork", "transcript"]

    private func add(_ task: StatusReport.Task, to page: inout PageText) {
        // The style sheet has a rule for each of these states.
        let style = StatusReport.counted.contains(task.state) ? task.state : .queued
        page.add("<li class=\"\(style.rawValue)\"><h2 dir=\"auto\">")
        let parts = task.path.split(separator: "/", maxSplits: 1)
        if Self.aboutShows.contains(task.kind), let show = parts.first {
            page.add("<a href=\"")
            page.path(String(show), "index.html")
            page.add("\">")
            page.text(String(parts.last ?? show))
            page.add("</a>")
        } else {
            page.text(task.path)
        }
        page.add("</h2>")
        if let progress = task.progress ?? (task.state == .running ? nil : 0) {
            page.add("<progress max=\"100\" value=\"\((progress * 10).rounded(.down) / 10)\"></progress>")
        } else {
            // No value: in progress, of unknown size.
            page.add("<progress></progress>")
        }
        page.add("<p class=\"facts\">")
        for fact in facts(of: task, show: parts.count > 1 ? String(parts[0]) : nil) {
            page.add("<span>")
            page.text(fact)
            page.add("</span>")
        }
        page.add("</p>")
        if let reason = task.reason {
            page.add("<p class=\"facts bad\">")
            page.text(reason)
            page.add("</p>")
        }
        page.add("</li>\n")
    }

    private func facts(of task: StatusReport.Task, show: String?) -> [String] {
        var facts: [String] = []
        if let show { facts.append(show) }
        facts.append(task.kind == "download" ? task.state.rawValue : "\(task.kind), \(task.state.rawValue)")
        if let progress = task.progress {
            let tenths = Int((progress * 10).rounded(.down))
            facts.append("\(tenths / 10).\(tenths % 10)%")
        }
        if let expected = task.expected {
            facts.append("\(ByteText.size(task.received)) of \(ByteText.size(expected))")
        } else if task.received > 0 {
            facts.append(ByteText.size(task.received))
        }
        if let rate = task.rate, task.state == .running { facts.append(ByteText.rate(rate)) }
        if let eta = task.eta { facts.append("\(TimeText.duration(eta)) left") }
        return facts
    }
}
