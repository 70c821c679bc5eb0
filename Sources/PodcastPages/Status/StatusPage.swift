internal import Platform
internal import Transfers

/// The page of active tasks, `.status.html`, which reloads itself.
package struct StatusPage: Sendable {
    /// A download or an upload that has recently finished or failed.
    package struct Ended: Sendable, Equatable {
        /// `SHOW/EPISODE`, or the title of an upload.
        package var path: String
        package var isUpload: Bool
        /// The time at which it finished or failed, in seconds since 1970 UTC.
        package var time: Int64
        /// The number of bytes received or sent; `nil` if it is not known.
        package var size: Int64?
        /// The reason for the failure; `nil` for a success.
        package var error: String?

        package init(path: String, isUpload: Bool = false, time: Int64, size: Int64? = nil, error: String? = nil) {
            self.path = path
            self.isUpload = isUpload
            self.time = time
            self.size = size
            self.error = error
        }
    }

    private let report: StatusReport
    private let rates: [Double]
    private let ended: [Ended]
    private let now: Int64

    /// - Parameters:
    ///   - rates: The total rate in bytes per second for each of the last seconds, newest last.
    ///   - ended: Transfers that have recently finished or failed, newest first.
    ///   - now: The current time in seconds since 1970 UTC.
    package init(_ report: StatusReport, rates: [Double], ended: [Ended] = [], now: Int64 = 0) {
        self.report = report
        self.rates = rates.map { $0.isFinite ? max(0, $0) : 0 }
        self.ended = ended
        self.now = now
    }

    /// The seconds between two reloads; `idle` if there is no task, or all tasks have failed.
    private static let pace = (busy: 2, idle: 10)
    /// The maximum number of ended transfers on the page.
    package static let endedLimit = 20

    package var bytes: [UInt8] {
        var page = PageText()
        let isBusy = !report.tasks.isEmpty
        let pace = report.tasks.contains { $0.state != .failed } ? Self.pace.busy : Self.pace.idle
        page.begin(
            title: isBusy ? "\(summary.joined(separator: ", ")) – podfs" : "No active tasks – podfs", kind: "status")
        page.navigation(current: ".status.html")
        page.add("<header><h1>Transfers</h1><p class=\"facts line\">")
        for part in isBusy ? summary : ["no active tasks"] { page.add("<span>\(part)</span>") }
        page.add("</p></header>\n<main>\n")
        // The page's script shows this checkbox, and reloads the page only while it is checked, because a user must be
        // able to stop the reloads (WCAG 2.2.2).
        page.add(
            "<p class=\"line\" hidden><label><input type=\"checkbox\" id=\"auto\" checked data-seconds=\"\(pace)\">")
        page.add("Update every \(pace) seconds</label></p>\n")
        if isBusy || rates.contains(where: { $0 > 0 }) { addPlot(to: &page) }
        if isBusy {
            page.add("<ul class=\"tasks\">\n")
            for task in report.tasks { add(task, to: &page) }
            page.add("</ul>\n")
            if report.omittedCount > 0 { page.add("<p class=\"facts\">\(report.omittedText)</p>\n") }
        } else {
            page.add(
                "<p class=\"none\">Nothing is being transferred. Downloads, uploads and refreshes show up here.</p>\n")
        }
        addEnded(to: &page)
        page.add("</main>\n")
        page.finish()
        return page.bytes
    }

    private func addEnded(to page: inout PageText) {
        guard !ended.isEmpty else { return }
        page.add(
            "<section aria-label=\"Finished and failed\"><h2>Recently finished and failed</h2><ul class=\"recent\">\n")
        for transfer in ended.prefix(Self.endedLimit) {
            page.add("<li><span dir=\"auto\">")
            page.text(transfer.path)
            page.add("</span><p class=\"facts line\(transfer.error == nil ? "" : " bad")\"><span>")
            page.add(transfer.error != nil ? "failed" : transfer.isUpload ? "published" : "downloaded")
            page.add("</span>")
            if let size = transfer.size, transfer.error == nil { page.add("<span>\(ByteText.size(size))</span>") }
            page.add("<span>\(TimeText.ago(max(0, now) - max(0, transfer.time)))</span>")
            if let error = transfer.error {
                page.add("<span>")
                page.text(error)
                page.add("</span>")
            }
            page.add("</p></li>\n")
        }
        page.add("</ul></section>\n")
    }

    private var summary: [String] {
        report.counts.compactMap { $0.count > 0 ? "\($0.count) \($0.state.rawValue)" : nil }
    }

    // MARK: Plot

    /// The height of the plot in SVG user units.
    private static let height = 40.0

    private func addPlot(to page: inout PageText) {
        let peak = rates.max() ?? 0
        page.add("<figure class=\"plot\"><figcaption class=\"facts\">")
        page.add("<strong>\(ByteText.rate(report.rate))</strong>")
        if peak > 0, rates.count > 1 {
            page.add("peak \(ByteText.rate(peak)) in the last \(rates.count) seconds</figcaption>\n")
            let height = Int(Self.height)
            page.add("<div class=\"scale\"><span class=\"top\">\(ByteText.rate(peak))</span>")
            page.add("<span class=\"half\">\(ByteText.rate(peak / 2))</span>")
            page.add("<svg viewBox=\"0 0 \(rates.count - 1) \(height)\" preserveAspectRatio=\"none\" ")
            page.add(
                "role=\"img\" aria-label=\"The rate of the last \(rates.count) seconds, at most \(ByteText.rate(peak))\">"
            )
            page.add("<path class=\"grid\" d=\"M0 1H\(rates.count - 1)M0 \(height / 2)H\(rates.count - 1)\"/>")
            let curve = rates.enumerated().map { index, rate in
                // Leaves space for the stroke at the top; zero lies on the bottom line.
                let y = Self.height - rate / peak * (Self.height - 1)
                return "\(index) \((y * 100).rounded() / 100)"
            }.joined(separator: "L")
            page.add("<path class=\"area\" d=\"M\(curve)L\(rates.count - 1) \(height)L0 \(height)Z\"/>")
            page.add("<path class=\"curve\" d=\"M\(curve)\"/></svg></div>")
            page.add("<div class=\"axis\"><span>\(TimeText.ago(Int64(rates.count)))</span><span>now</span></div>")
        } else {
            page.add("</figcaption>")
        }
        page.add("</figure>\n")
    }

    // MARK: Tasks

    /// Kinds of tasks whose path starts with the name of a show.
    private static let aboutShows: Set = ["download", "refresh", "artwork", "transcript"]

    private func add(_ task: StatusReport.Task, to page: inout PageText) {
        // The style sheet covers only the states that the summary counts. A task in any other state looks like a queued
        // one.
        let style = TaskState.counted.contains(task.state) ? task.state : .queued
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
            page.add(
                "<progress max=\"100\" value=\"\((progress * 10).rounded(.down) / 10)\" aria-label=\"Progress\"></progress>"
            )
        } else {
            // Without a value, the bar shows that the progress is unknown.
            page.add("<progress aria-label=\"Progress\"></progress>")
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
        if task.expected ?? task.estimate != nil {
            facts.append("\(ByteText.size(task.received)) of \(task.sizeText)")
        } else if task.received > 0 {
            facts.append(ByteText.size(task.received))
        }
        if let rate = task.rate, task.state == .running { facts.append(ByteText.rate(rate)) }
        if let eta = task.eta { facts.append("\(TimeText.duration(eta)) left") }
        return facts
    }
}
