internal import DaemonCore
internal import Foundation
internal import Logging
internal import PodcastLibrary
internal import PodcastProtocol
internal import TransferCore

/// Views: `podfs view set` and `remove`, and views that change with time.
@ServiceActor
final class Views: ServicePart {
    nonisolated let context: ServiceContext
    private let driver: CoreDriver

    init(_ driver: CoreDriver) {
        context = driver.context
        self.driver = driver
    }

    func set(_ name: String, _ assignments: [String]) throws -> Reply {
        do {
            let folder = try library.setView(named: name, assignments, now: now())
            driver.note(.changedView(name: folder.name))
            return .done
        } catch let error as ViewError {
            throw Failure(kind: .usage, message: error.message)
        }
    }

    func remove(_ name: String) throws -> Reply {
        do {
            driver.note(.changedView(name: try library.removeView(named: name), isRemoved: true))
            return .done
        } catch let error as ViewError {
            throw Failure(message: error.message)
        }
    }

    // MARK: Time

    /// When the passing of time next changes a view, in seconds since 1970.
    var next: Int64? { (try? library.nextViewUpdate()) ?? nil }

    /// Updates the views whose time has passed.
    func update() {
        do {
            driver.note(try library.updateViews(now: now()).map { .changedView(name: $0) })
        } catch {
            log.error("\(error)")
        }
    }
}
