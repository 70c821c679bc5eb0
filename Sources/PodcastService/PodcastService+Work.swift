internal import Logging
internal import PodcastLibrary
internal import PodcastProtocol
internal import TransferCore

// What daemons before this one have died under. See podfs-daemon(8).
extension PodcastService {
    /// Looks at what the daemon before has left, and puts off what it has died under for the second time.
    func takeUpWork() {
        let now = now()
        let skipped = work.open(now: now) { item in
            switch item.kind {
            case .refresh: (try? library.podcast(id: ShowID(item.id)))?.map(\.name)
            case .sync: (try? library.syncAccount())?.map(\.url)
            case .upload: (try? library.upload(id: TaskID(item.id)))?.map(\.title)
            }
        }
        for entry in skipped {
            log.error("\(entry.explanation)")
        }
    }

    /// Why a show is not refreshed unless somebody names it.
    func reasonToSkip(_ show: RefreshSubject) -> String? {
        work.skipped(WorkItem.refresh(show.id), now: now())?.explanation
    }

    /// Why an upload does not go on unless somebody resumes it.
    func reasonToSkip(_ upload: Upload) -> String? {
        work.skipped(WorkItem.upload(upload.id), now: now())?.explanation
    }

    /// Puts off what is due and is left out: whatever has made it due, upkeep is not to come back to it at once.
    func putOffSkipped(_ due: [RefreshSubject]) throws {
        for show in due {
            guard let until = work.skippedUntil(WorkItem.refresh(show.id), now: now()) else { continue }
            try library.setNextRefresh(podcast: show.id, until)
        }
    }
}

extension WorkRecord.Entry {
    /// What does not run, why, and what makes it run; one line.
    package var explanation: String {
        let (what, command) =
            switch item.kind {
            case .refresh: ("the refresh of '\(name)'", "podfs refresh '\(name)'")
            case .sync: ("the exchange with \(name)", "podfs sync run")
            case .upload: ("the upload of '\(name)'", "podfs resume upload:\(item.id)")
            }
        return "\(what) has ended the daemon twice and is left out for a day; \(command) tries it now"
    }
}
