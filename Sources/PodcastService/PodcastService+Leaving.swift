internal import Logging
internal import Platform
internal import PodcastLibrary
internal import Synchronization
internal import TransferCore
internal import TransferEngine

// When the daemon has nothing left to do.
extension PodcastService {
    /// Whether there is no client, no command, and no download or upload that could move.
    private var isIdle: Bool {
        commandsUnderWay == 0 && refreshing.isEmpty && feeds.isAtRest && clients.withLock { $0.isEmpty }
            && tasks.values.allSatisfy { record in
                record.snapshot.map { $0.state == .suspended || $0.state == .failed } ?? true
                    || waitsForSpace(record.download.episode)
            }
            && uploads.values.allSatisfy { $0.state == .suspended || $0.state == .failed }
    }

    /// Begins to count down when there is nothing to do; ends the count when there is. Called at the end of all work.
    func considerIdle() {
        configuration.onWork()
        guard isIdle else {
            idleCheck?.cancel()
            idleCheck = nil
            return
        }
        guard idleCheck == nil else { return }
        let delay = configuration.idleExit
        idleCheck = Task(executorPreference: WorkerPool.shared) { [weak self] in
            await Timers.sleep(for: .seconds(delay))
            guard !Task.isCancelled else { return }
            await self?.leaveIfIdle()
        }
    }

    private func leaveIfIdle() {
        idleCheck = nil
        guard isIdle else { return }
        log.info("nothing to do for \(configuration.idleExit) s: leaving")
        onIdle()
    }

    /// The daemon is asked to leave.
    func leaveNow() { onIdle() }
}
