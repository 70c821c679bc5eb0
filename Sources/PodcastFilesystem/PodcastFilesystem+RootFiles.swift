internal import Fuse
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import Synchronization

// The files that are made in the root.
extension PodcastFilesystem {
    func attributes(of file: FixedFile, size: Int) -> Attributes {
        let moment: Int64
        switch file {
        case .status, .statusJSON, .statusPage, .shelf: moment = now
        case .subscriptions: moment = subscriptionsPage.withLock { $0?.moment } ?? started
        case .noMedia, .trackerIgnore: moment = started
        }
        return Attributes(
            inode: file.number.inode, kind: .regular, permissions: 0o444, size: Int64(size),
            blocks: Int64(size + 511) / 512, uid: options.owner.uid, gid: options.owner.gid,
            accessed: Timestamp(seconds: moment), modified: Timestamp(seconds: moment),
            changed: Timestamp(seconds: moment))
    }

    /// The status files and the list change by themselves: their attributes are asked for each time.
    func timeout(of file: FixedFile) -> Double {
        switch file {
        case .status, .statusJSON, .statusPage, .subscriptions, .shelf: 0
        case .noMedia, .trackerIgnore: Self.timeout
        }
    }

    func render(_ file: FixedFile) throws -> [UInt8] {
        switch file {
        case .status: Array(try statusReport().text.utf8)
        case .statusJSON: try statusReport().jsonBytes
        case .statusPage: StatusPage(try statusReport(), rates: live.rates).bytes
        case .subscriptions: try renderSubscriptions()
        case .shelf: try renderShelf()
        case .noMedia, .trackerIgnore: []
        }
    }

    /// Its time is that of its last change: programs that copy what is new go by it.
    private func renderSubscriptions() throws -> [UInt8] {
        let subscriptions = try library.subscriptions()
        let page = SubscriptionsPage.document(subscriptions)
        subscriptionsPage.withLock { last in
            if last?.bytes == page { return }
            let moment = last == nil ? subscriptions.map(\.changed).max() ?? started : now
            last = (page, moment)
        }
        return page
    }

    private func statusReport() throws -> StatusReport {
        StatusReport(link.isConnected ? live.all : try library.outstandingTasks())
    }
}
