internal import PodcastLibrary
internal import PodcastProtocol

/// The commands `podfs view set` and `podfs view remove`, and the updates of views that change with time.
@ServiceActor
final class Views: ServicePart {
    nonisolated let driver: CoreDriver

    init(_ driver: CoreDriver) { self.driver = driver }

    func set(_ name: String, _ assignments: [String]) throws -> Reply {
        driver.report(.changedView(name: try library.setView(named: name, assignments, now: now())))
        return .done
    }

    func remove(_ name: String) throws -> Reply {
        do {
            driver.report(.changedView(name: try library.removeView(named: name), isRemoved: true))
            return .done
        } catch let error as SettingError {
            throw Failure(message: error.message)
        }
    }

    // MARK: Time

    /// The next time at which a view changes merely because time has passed, in seconds since 1970; `nil` if none does.
    var next: Int64? { (try? library.nextViewUpdate()) ?? nil }

    /// Updates the views that have changed because time has passed, and notifies clients.
    func update() {
        attempt { driver.report(try library.updateViews(now: now()).map { .changedView(name: $0) }) }
    }
}
