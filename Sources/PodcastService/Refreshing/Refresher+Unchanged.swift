internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

// Feeds whose response is a 304, which is the common case.
extension Refresher {
    /// Handles the reports of the `FeedPump`, which sends the requests for feeds. Reports that arrive meanwhile are
    /// handled together by the next call.
    func drainFeedReports() {
        let isWatched = driver.clients.isWatched
        var unchanged: [(request: FeedPump.RunningRequest, head: ResponseHead)] = []
        for report in feeds.drainReports(isWatched: isWatched) {
            switch report {
            case .began(let request):
                if isWatched { driver.report(.updated(request.task)) }
            case .unchanged(let request, let head): unchanged.append((request, head))
            case .answer(let request, let answer):
                refreshNow(request.job.show.id, answer: StreamingResponse(request: request, events: answer))
            case .slot(let id): beginSlot(id)
            }
        }
        if unchanged.isEmpty { return }
        let errors = record(unchanged)
        context.work.remove(unchanged.map { WorkItem.refresh($0.request.job.show.id) })
        for (show, error) in zip(unchanged, errors) {
            let subject = show.request.job.show
            occasions[subject.id] = nil
            if driver.core.tasks.others[show.request.task.id] != nil { driver.finishFetch(show.request.task.id) }
            deliver(RefreshResult(name: subject.name, added: 0, error: error), of: subject.id)
        }
        reportIfIdle()
    }

    /// Records 304 responses in one transaction, and tidies their shows: removes and downloads episodes as `keep` and
    /// `auto_download` require.
    ///
    /// - Returns: for each response, an error message if it was not recorded or its show was not tidied, else `nil`.
    private func record(_ answers: [(request: FeedPump.RunningRequest, head: ResponseHead)]) -> [String?] {
        var errors = [String?](repeating: nil, count: answers.count)
        // Without their rhythms, the shows are scheduled as if their publication dates were unknown.
        attempt { try loadRhythms(of: answers.map(\.request.job.show.id)) }
        let feeds = answers.map { unchanged($0.request.job.show, $0.head) }
        var gone: Set<ShowID> = []
        do {
            gone = try library.recordUnchanged(feeds, now: now())
        } catch {
            // Retry one by one: a single faulty row must not fail the others.
            for (index, feed) in feeds.enumerated() {
                do {
                    gone.formUnion(try library.recordUnchanged([feed], now: now()))
                } catch {
                    errors[index] = "\(error)"
                    recordingFailed(error)
                }
            }
        }
        if errors.contains(nil) { recordingBackoff.succeeded(at: uptime) }
        for answer in answers { answered(answer.request.job.show.url) }
        announceTroubles()
        // Without this set, all shows are tidied. A show that cannot be tidied reports its own error.
        let ahead = try? library.podcastsFetchingAhead()
        for (index, answer) in answers.enumerated() where errors[index] == nil {
            let show = answer.request.job.show
            if gone.contains(show.id) {
                errors[index] = Self.goneText
                continue
            }
            let settings = settings(of: show)
            // If `keep` is a number of days, episodes expire even without a change in the feed.
            let keep = settings.keep ?? configuration.keep
            let newest = settings.autoDownload ?? configuration.autoDownload
            guard keep != .all || newest > 0 || ahead?.contains(show.id) ?? true else { continue }
            do {
                try tidier.tidy(show.id, isChanged: false)
            } catch {
                errors[index] = "\(error)"
            }
        }
        return errors
    }

    static let goneText = "the show is no longer subscribed"

    private func unchanged(_ show: RefreshSubject, _ head: ResponseHead) -> UnchangedFeed {
        let facts = RefreshFacts(
            head: head, updateInterval: show.updateInterval, quietTimes: show.quietTimes,
            rhythm: tidier.rhythms[show.id]?.rhythm)
        var response = FeedResponse(head, from: head.url ?? show.url)
        response.nextRefresh = nextRefresh(facts)
        return (podcast: show.id, response: response)
    }

    /// Computes release rhythms that are missing or expired.
    private func loadRhythms(of podcasts: [ShowID]) throws {
        let now = now()
        let unknown = podcasts.filter { tidier.rhythms[$0].map { now >= $0.until } ?? true }
        if unknown.isEmpty { return }
        for (podcast, published) in zip(unknown, try library.published(of: unknown)) {
            // The rhythm ignores an episode dated in the future, so it expires when that time has come.
            let until = published.filter { $0 > now }.min() ?? .max
            tidier.rhythms[podcast] = (ReleaseRhythm(published: published, now: now), until)
        }
    }
}
