internal import Platform
internal import PodcastProtocol
internal import Transfers

/// The page of active tasks, `.status.html`, which reloads itself.
package enum StatusPage {
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

    /// The maximum number of ended transfers on the page.
    package static let endedLimit = 20

    /// - Parameters:
    ///   - rates: The total rate in bytes per second for each of the last seconds, newest last.
    ///   - ended: Transfers that have recently finished or failed, newest first.
    ///   - now: The current time in seconds since 1970 UTC.
    ///   - views: The names of the views' folders.
    package static func bytes(
        _ report: StatusReport, rates: [Double], ended: [Ended] = [], now: Int64 = 0, views: [String] = []
    ) -> [UInt8] {
        let rates = rates.map { $0.isFinite ? max(0, $0) : 0 }
        let summary = report.counts.compactMap { $0.count > 0 ? "\($0.count) \($0.state.rawValue)" : nil }
        let isBusy = !report.tasks.isEmpty
        // The seconds between two reloads: more if there is no task, or all tasks have failed.
        let seconds = report.tasks.contains { $0.state != .failed } ? 2 : 10
        let title = isBusy ? summary.joined(separator: ", ") : "No active tasks"
        let counts = (isBusy ? summary : ["no active tasks"]).map { "<span>\($0)</span>" as Markup }
        let tasks: Markup =
            isBusy
            ? """
            <ul class="tasks">
            \(report.tasks.map(row))</ul>
            \(report.omittedCount > 0 ? fact(report.omittedText) : nil)
            """
            : """
            <p class="none">Nothing is being transferred. Downloads, uploads and refreshes show up here.</p>

            """
        // The page's script shows the checkbox, and reloads the page only while it is checked, because a user must be
        // able to stop the reloads (WCAG 2.2.2).
        let page: Markup = """
            \(Markup.beginning(title: "\(title) – podfs", kind: "status"))\
            \(Markup.navigation(current: [".status.html"], views: views))\
            <header><h1>Transfers</h1><p class="facts line">\(counts)</p></header>
            <main>
            <p class="line" hidden><label><input type="checkbox" id="auto" checked data-seconds="\(seconds)">\
            Update every \(seconds) seconds</label></p>
            \(isBusy || rates.contains { $0 > 0 } ? plot(rates, now: report.rate) : nil)\(tasks)\
            \(report.archive.map { fact("Archive: \($0)", style: " bad") })\
            \(report.covers > 0 ? fact("\(report.covers.counted("cover")) still to be fetched") : nil)\
            \(list(of: ended, now: now))</main>
            \(Markup.end)
            """
        return page.bytes
    }

    private static func fact(_ text: String, style: String = "") -> Markup {
        """
        <p class="facts\(style)">\(text)</p>

        """
    }

    private static func list(of ended: [Ended], now: Int64) -> Markup? {
        if ended.isEmpty { return nil }
        let rows = ended.prefix(endedLimit).map { transfer -> Markup in
            let result = transfer.error != nil ? "failed" : transfer.isUpload ? "published" : "downloaded"
            let size = transfer.error == nil ? transfer.size.map { "<span>\(ByteText.size($0))</span>" as Markup } : nil
            return """
                <li><span dir="auto">\(transfer.path)</span>\
                <p class="facts line\(transfer.error == nil ? "" : " bad")"><span>\(result)</span>\(size)\
                <span>\(TimeText.ago(max(0, now) - max(0, transfer.time)))</span>\
                \(transfer.error.map { "<span>\($0)</span>" })</p></li>

                """
        }
        return """
            <section aria-label="Finished and failed"><h2>Recently finished and failed</h2><ul class="recent">
            \(rows)</ul></section>

            """
    }

    // MARK: Plot

    private static func plot(_ rates: [Double], now: Double) -> Markup {
        let peak = rates.max() ?? 0
        let rate = ByteText.rate(now)
        guard peak > 0, rates.count > 1 else {
            return """
                <figure class="plot"><figcaption class="facts"><strong>\(rate)</strong></figcaption></figure>

                """
        }
        // In SVG user units.
        let (end, height) = (rates.count - 1, 40)
        let curve = rates.enumerated().map { index, rate in
            // Leaves space for the stroke at the top; zero lies on the bottom line.
            let y = Double(height) - rate / peak * Double(height - 1)
            return "\(index) \((y * 100).rounded() / 100)"
        }.joined(separator: "L")
        return """
            <figure class="plot"><figcaption class="facts"><strong>\(rate)</strong>\
            peak \(ByteText.rate(peak)) in the last \(rates.count) seconds</figcaption>
            <div class="scale"><span class="top">\(ByteText.rate(peak))</span>\
            <span class="half">\(ByteText.rate(peak / 2))</span>\
            <svg viewBox="0 0 \(end) \(height)" preserveAspectRatio="none" role="img" \
            aria-label="The rate of the last \(rates.count) seconds, at most \(ByteText.rate(peak))">\
            <path class="grid" d="M0 1H\(end)M0 \(height / 2)H\(end)"/>\
            <path class="area" d="M\(curve)L\(end) \(height)L0 \(height)Z"/>\
            <path class="curve" d="M\(curve)"/></svg></div>\
            <div class="axis"><span>\(TimeText.ago(Int64(rates.count)))</span><span>now</span></div></figure>

            """
    }

    // MARK: Tasks

    /// Kinds of tasks whose path starts with the name of a show.
    private static let aboutShows: Set<TaskInfo.Kind> = [.download, .refresh, .artwork, .transcript, .archive]

    private static func row(of task: StatusReport.Task) -> Markup {
        // The style sheet covers only the states that the summary counts. A task in any other state looks like a queued
        // one.
        let style = TaskState.counted.contains(task.state) ? task.state : .queued
        let parts = task.path.split(separator: "/", maxSplits: 1)
        var name: Markup = "\(task.path)"
        if aboutShows.contains(task.kind), let show = parts.first {
            name = "<a href=\"\(path: String(show), "index.html")\">\(parts.last ?? show)</a>"
        }
        // Without a value, the bar shows that the progress is unknown.
        let progress = (task.progress ?? (task.state == .running ? nil : 0)).map {
            " max=\"100\" value=\"\(($0 * 10).rounded(.down) / 10)\"" as Markup
        }
        let facts = facts(of: task, show: parts.count > 1 ? String(parts[0]) : nil).map {
            "<span>\($0)</span>" as Markup
        }
        return """
            <li class="\(style.rawValue)"><h2 dir="auto">\(name)</h2>\
            <progress\(progress) aria-label="Progress"></progress><p class="facts">\(facts)</p>\
            \(task.reason.map { "<p class=\"facts bad\">\($0)</p>" })</li>

            """
    }

    private static func facts(of task: StatusReport.Task, show: String?) -> [String] {
        var facts: [String] = []
        if let show { facts.append(show) }
        facts.append(task.kind == .download ? task.state.rawValue : "\(task.kind.rawValue), \(task.state.rawValue)")
        if let progress = task.progress { facts.append(String(ProgressBar.percent(progress).drop { $0 == " " })) }
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
