import Platform

@testable import Transfers

/// A class that holds an upload machine (a value type) and its clock, with short names for the machine's events.
final class UploadBench {
    var machine: UploadMachine
    var now = Instant.seconds(1_000)
    /// The identifier of the last action `.send` (a request) or `.record` that the machine returned.
    private(set) var lastID = 0

    static let url = "http://a/videos"
    static let place = "http://a/videos/1/movie"

    init(_ resumeData: UploadResumeData = UploadResumeData(), retry: RetryPolicy = RetryPolicy()) {
        machine = UploadMachine(url: Self.url, size: 1_000, resumeData: resumeData, retry: retry)
    }

    private func note(_ actions: [UploadMachine.Action]) -> [UploadMachine.Action] {
        for action in actions {
            switch action {
            case .send(let id, _), .record(let id, _): lastID = id
            default: break
            }
        }
        return actions
    }

    // MARK: Events

    func resume() -> [UploadMachine.Action] { note(machine.resume(now: now)) }
    func suspend() -> [UploadMachine.Action] { note(machine.suspend()) }
    func cancel() -> [UploadMachine.Action] { note(machine.cancel()) }
    func recorded(_ id: Int) -> [UploadMachine.Action] { note(machine.recorded(id)) }
    func confirm() -> [UploadMachine.Action] { recorded(lastID) }
    func requestSent(_ id: Int) { machine.requestSent(id) }
    func sent(_ count: Int64) { machine.sent(lastID, count) }
    func pass(_ milliseconds: Int64) { now += .milliseconds(milliseconds) }

    func answer(_ status: Int, _ fields: [String: String] = [:], location: String? = nil) -> [UploadMachine.Action] {
        machine.requestSent(lastID)
        let head = ResponseHead(status: status, fields: fields)
        return note(machine.answered(lastID, head, location: location, now: now, random: 0))
    }

    func lost(wasSent: Bool = true, isTransient: Bool = true) -> [UploadMachine.Action] {
        machine.requestSent(lastID)
        let error = TransferError(.failed, "broken")
        return note(machine.lost(lastID, error, wasSent: wasSent, isTransient: isTransient, now: now, random: 0))
    }

    func resolve(_ finding: UploadMachine.Finding) -> [UploadMachine.Action] {
        note(machine.resolved(finding, now: now, random: 0))
    }

    /// Advances the clock to the machine's deadline, and ticks.
    func tick() -> [UploadMachine.Action] {
        now = max(now, machine.deadline ?? now)
        return note(machine.tick(now: now))
    }

    func failure(of actions: [UploadMachine.Action]) -> TransferError? {
        actions.lazy.compactMap { if case .failed(let error) = $0 { error } else { nil } }.first
    }

    // MARK: Advancing to a step

    /// Advances to the point where the POST is being sent.
    func post() {
        _ = resume()
        _ = confirm()
        requestSent(lastID)
    }

    /// Advances to the point where the machine asks its owner for the outcome of the POST.
    func doubt() {
        post()
        _ = lost()
        _ = tick()
    }

    /// Advances to the point where the machine asks the server whether the media URL supports tus.
    func reachMedia() {
        post()
        _ = answer(303, location: Self.place)
        _ = confirm()
    }

    /// Advances to the point where all of the media is being sent.
    func put() {
        reachMedia()
        _ = answer(404)
        _ = confirm()
        requestSent(lastID)
    }

    /// Advances to the point where the machine asks the server how many bytes of the media it has.
    func head() {
        reachMedia()
        _ = answer(204, ["tus-version": "1.0.0"])
        _ = confirm()
    }

    /// Advances to the point where the rest of the media is being sent, from `offset` on.
    func patch(from offset: Int64) {
        head()
        _ = answer(200, ["upload-offset": "\(offset)"])
        _ = confirm()
        requestSent(lastID)
    }
}
