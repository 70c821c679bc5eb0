internal import DaemonCore
internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import TransferCore

// Feeds that have been asked for again and are as they were, which is what most are.
extension Refresher {
    /// Takes up what the feeds' servers have said. What is said while this runs is taken next, all of it together.
    func takeFeedReports() {
        let isWatched = driver.clients.isWatched
        var unchanged: [(asked: FeedPump.Asked, head: ResponseHead)] = []
        for report in feeds.takeReports(isWatched: isWatched) {
            switch report {
            case .began(let asked):
                if isWatched { driver.note(.fetchTold(asked.task, .running)) }
            case .unchanged(let asked, let head): unchanged.append((asked, head))
            case .answer(let asked, let answer):
                refreshNow(asked.job.show.id, answer: FeedAnswer(asked: asked, events: answer))
            case .turn(let id): beginTurn(id)
            }
        }
        if unchanged.isEmpty { return }
        let errors = note(unchanged)
        context.work.end(unchanged.map { WorkItem.refresh($0.asked.job.show.id) })
        for (show, error) in zip(unchanged, errors) {
            let subject = show.asked.job.show
            occasions[subject.id] = nil
            if isWatched { driver.note(.fetchTold(show.asked.task, .remote)) }
            tell(RefreshResult(name: subject.name, added: 0, error: error), of: subject.id)
        }
        restIfDone()
    }

    /// Writes answers down, in one transaction, and what they lead to.
    ///
    /// - Returns: for each why it was not written.
    private func note(_ answers: [(asked: FeedPump.Asked, head: ResponseHead)]) -> [String?] {
        var errors = [String?](repeating: nil, count: answers.count)
        do {
            try learnRhythms(of: answers.map(\.asked.job.show.id))
        } catch {
            // Then they are looked at as shows of which nothing is known.
            log.error("\(error)")
        }
        let feeds = answers.map { unchanged($0.asked.job.show, $0.head) }
        var gone: Set<ShowID> = []
        do {
            gone = try library.noteUnchanged(feeds, now: now())
        } catch {
            // One of them may be to blame; the others are none the worse for it.
            for (index, feed) in feeds.enumerated() {
                do {
                    gone.formUnion(try library.noteUnchanged([feed], now: now()))
                } catch {
                    errors[index] = "\(error)"
                }
            }
        }
        var ahead: Set<ShowID>?
        do {
            ahead = try library.podcastsFetchingAhead()
        } catch {
            // Then each of them is looked at, and has an error of its own if that fails as well.
            log.error("\(error)")
        }
        for (index, answer) in answers.enumerated() where errors[index] == nil {
            let show = answer.asked.job.show
            if gone.contains(show.id) {
                errors[index] = Self.goneText
                continue
            }
            let settings = settings(of: show)
            // Time passes, and what is kept for some days leaves.
            let keep = settings.keep ?? configuration.keep
            let newest = settings.autoDownload ?? configuration.autoDownload
            guard keep != .all || newest > 0 || ahead?.contains(show.id) ?? true else { continue }
            do {
                try tidier.tidy(show.id)
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
        var response = FeedFetcher.response(head, from: head.url ?? show.url)
        response.nextRefresh = configuration.schedule.next(facts, now: now(), random: .random(in: 0..<1))
        return UnchangedFeed(podcast: show.id, response: response)
    }

    /// Looks up what is not known, or has changed with time.
    private func learnRhythms(of podcasts: [ShowID]) throws {
        let now = now()
        let unknown = podcasts.filter { tidier.rhythms[$0].map { now >= $0.until } ?? true }
        if unknown.isEmpty { return }
        for (podcast, published) in zip(unknown, try library.published(of: unknown)) {
            // Announcements count when their time has come.
            let until = published.filter { $0 > now }.min() ?? .max
            tidier.rhythms[podcast] = (ReleaseRhythm(published: published, now: now), until)
        }
    }
}
