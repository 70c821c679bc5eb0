internal import PodcastLibrary
internal import PodcastProtocol
internal import TransferCore

// Feeds that have been asked for again and are as they were, which is what most are.
extension PodcastService {
    /// Takes up what the feeds' servers have said. What is said while this runs is taken next, all of it together.
    func takeFeedReports() {
        let isWatched = isWatched
        var unchanged: [(asked: FeedPump.Asked, head: ResponseHead)] = []
        for report in feeds.takeReports(isWatched: isWatched) {
            switch report {
            case .began(let asked):
                if isWatched { tellFeedTask(asked.task, state: .running) }
            case .unchanged(let asked, let head): unchanged.append((asked, head))
            case .answer(let asked, let answer):
                refreshNow(asked.job.show.id, answer: FeedAnswer(asked: asked, events: answer))
            case .turn(let id): beginTurn(id)
            }
        }
        if unchanged.isEmpty { return }
        for (show, error) in zip(unchanged, note(unchanged)) {
            let subject = show.asked.job.show
            refreshes.occasions[subject.id] = nil
            if isWatched { tellFeedTask(show.asked.task, state: .remote) }
            tell(RefreshResult(name: subject.name, added: 0, error: error), of: subject.id)
        }
        restIfDone()
    }

    /// Writes answers down, in one transaction, and what they lead to.
    ///
    /// - Returns: for each why it was not written.
    private func note(_ answers: [(asked: FeedPump.Asked, head: ResponseHead)]) -> [String?] {
        var errors = [String?](repeating: nil, count: answers.count)
        var feeds: [UnchangedFeed?] = []
        for (index, answer) in answers.enumerated() {
            do {
                feeds.append(try unchanged(answer.asked.job.show, answer.head))
            } catch {
                feeds.append(nil)
                errors[index] = "\(error)"
            }
        }
        var gone: Set<Int64> = []
        do {
            gone = try library.noteUnchanged(feeds.compactMap { $0 }, now: now())
        } catch {
            // One of them may be to blame; the others are none the worse for it.
            for (index, feed) in feeds.enumerated() {
                guard let feed else { continue }
                do {
                    gone.formUnion(try library.noteUnchanged([feed], now: now()))
                } catch {
                    errors[index] = "\(error)"
                }
            }
        }
        let ahead = (try? library.podcastsFetchingAhead()) ?? []
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
            guard keep != .all || newest > 0 || ahead.contains(show.id) else { continue }
            do {
                try tidy(show.id)
            } catch {
                errors[index] = "\(error)"
            }
        }
        return errors
    }

    static let goneText = "the show is no longer subscribed"

    private func unchanged(_ show: RefreshSubject, _ head: ResponseHead) throws -> UnchangedFeed {
        let facts = RefreshFacts(head: head, updateInterval: show.updateInterval, rhythm: try rhythm(of: show.id))
        var response = FeedFetcher.response(head, from: head.url ?? show.url)
        response.nextRefresh = configuration.schedule.next(facts, now: now(), random: .random(in: 0..<1))
        return UnchangedFeed(podcast: show.id, response: response)
    }

    private func rhythm(of podcast: Int64) throws -> ReleaseRhythm {
        let now = now()
        if let known = refreshes.rhythms[podcast], now < known.until { return known.rhythm }
        let published = try library.published(of: podcast)
        let rhythm = ReleaseRhythm(published: published, now: now)
        // Announcements count when their time has come.
        refreshes.rhythms[podcast] = (rhythm, published.filter { $0 > now }.min() ?? .max)
        return rhythm
    }
}
