internal import Fuse
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import Synchronization
internal import Transfers

/// The root folder of a mount: files about all shows, `.find`, `.search`, the folder of tags, `Tagged` if enabled,
/// views and shows.
struct RootFolder: NodeBehaviour {
    let place: NodePlace

    var form: NodeForm { .folder }

    func find(_ name: String) throws -> Entry? {
        if let file = FixedFile.allCases.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
            return try mount.entry(of: file.number)
        }
        if let show = try mount.library.folder(named: name) { return mount.entry(ShowFolder.facts(of: show)) }
        if let view = try mount.library.viewFolder(named: name) {
            return mount.entry(ViewFolderNode.facts(of: view, mount))
        }
        return try folders().first { $0.name.utf8.elementsEqual(name.utf8) }.map { mount.entry($0.facts) }
    }

    func items() throws -> [FolderSnapshot.Item]? {
        let shows = try mount.library.folders().map {
            FolderSnapshot.Item(name: $0.name, facts: ShowFolder.facts(of: $0))
        }
        let views = try mount.library.viewFolders().map {
            FolderSnapshot.Item(name: $0.name, facts: ViewFolderNode.facts(of: $0, mount))
        }
        let files = FixedFile.allCases.map { FolderSnapshot.Item(name: $0.name, bare: $0.number) }
        return files + (try folders()) + views + shows
    }

    /// Returns the folders other than views and shows.
    private func folders() throws -> [FolderSnapshot.Item] {
        var folders = [
            (".find", NodeNumber.find), (".search", .search), (try mount.library.tagsFolder(), .tags),
        ]
        if mount.options.hasTagged { folders.append((try mount.library.taggedFolder(), .tagged)) }
        return folders.map {
            FolderSnapshot.Item(name: $0, facts: NodeFacts(fixed: $1, of: mount))
        }
    }

    func command(setting attribute: ControlAttribute, to value: String) throws -> Command? {
        guard attribute == .task else { return nil }
        if value == "refresh" { return .refresh(podcasts: []) }
        return try ControlAttribute.action(value).map {
            .act($0, episodes: try mount.library.episodes(of: nil, for: $0))
        }
    }
}

/// The generated files in the root folder of the mount.
enum FixedFile: Int64, CaseIterable, Sendable {
    case status = 2
    case statusJSON = 3
    case noMedia = 4
    case trackerIgnore = 5
    case subscriptions = 6
    case statusPage = 7
    case shelf = 8

    var name: String {
        switch self {
        case .status: ".status"
        case .statusJSON: ".status.json"
        case .noMedia: ".nomedia"
        case .trackerIgnore: ".trackerignore"
        case .subscriptions: ".subscriptions.opml"
        case .statusPage: ".status.html"
        case .shelf: "index.html"
        }
    }

    var number: NodeNumber { NodeNumber(kind: .fixed, row: rawValue) }

    fileprivate func content(_ mount: PodcastFilesystem) throws -> GeneratedContent {
        switch self {
        case .status: GeneratedContent(Array(try mount.statusReport().text.utf8))
        case .statusJSON: GeneratedContent(try mount.statusReport().jsonBytes)
        case .statusPage: GeneratedContent(try mount.statusPage())
        case .subscriptions: GeneratedContent(try mount.subscriptions.render(mount))
        case .shelf: GeneratedContent(try mount.shelfPage())
        case .noMedia, .trackerIgnore: GeneratedContent([])
        }
    }

    /// Returns the time that is both the file's mtime and its ctime, in seconds of Unix time.
    fileprivate func moment(_ mount: PodcastFilesystem) -> Int64 {
        switch self {
        case .status, .statusJSON, .statusPage, .shelf: mount.now
        case .subscriptions: mount.subscriptions.moment ?? mount.started
        case .noMedia, .trackerIgnore: mount.started
        }
    }
}

/// A generated file in the root.
struct RootFile: GeneratedFile {
    let place: NodePlace

    var form: NodeForm {
        switch FixedFile(rawValue: node.row) {
        case .noMedia, .trackerIgnore: .file
        default: .changing
        }
    }

    func facts(open: OpenFile?) throws -> NodeFacts? {
        try rendering(open?.content).map {
            NodeFacts(node, size: $0.content.size, modified: $0.modified, changed: $0.changed)
        }
    }

    func render() throws -> Rendering? {
        try rendering(nil)
    }

    /// - Parameter content: The content that an open handle already has; `nil` to render it now.
    private func rendering(_ content: GeneratedContent?) throws -> Rendering? {
        guard let file = FixedFile(rawValue: node.row) else { return nil }
        let content = try content ?? file.content(mount)
        let moment = file.moment(mount)
        return Rendering(content: content, modified: moment, changed: moment)
    }
}

/// The list of subscriptions as last rendered.
final class SubscriptionsRendering: Sendable {
    private let last = Mutex<(bytes: [UInt8], moment: Int64)?>(nil)

    /// The time of the list's last change, in seconds since 1970; `nil` before the first rendering. It is the file's
    /// mtime, by which programs detect changes.
    var moment: Int64? { last.withLock { $0?.moment } }

    /// Renders the list, and updates `moment` if it has changed.
    func render(_ mount: PodcastFilesystem) throws -> [UInt8] {
        let subscriptions = try mount.library.subscriptions()
        let page = SubscriptionsPage.document(subscriptions)
        last.withLock { last in
            if last?.bytes == page { return }
            let moment = last == nil ? subscriptions.map(\.changed).max() ?? mount.started : mount.now
            last = (page, moment)
        }
        return page
    }
}

extension PodcastFilesystem {
    fileprivate func shelfPage() throws -> [UInt8] {
        var newest: [ShowID: Int64] = [:]
        for folder in try library.folders() { newest[folder.id] = folder.newest }
        var shelf = Shelf(try library.podcasts(), newest: newest)
        shelf.unplayed = try library.unplayedCounts()
        shelf.inProgress = try library.episodesInProgress(limit: Shelf.inProgressLimit)
        shelf.latest = try library.newestEpisodes(limit: Shelf.latestLimit)
        shelf.titles = try library.titles(limit: Shelf.titleLimit)
        shelf.views = try library.viewFolders().map(\.name)
        return shelf.page
    }

    fileprivate func statusReport() throws -> StatusReport {
        var report = StatusReport(
            TaskList(link.isConnected ? live.all : try library.outstandingTasks(), limit: TaskList.limit))
        report.archive = try library.archiveProblem()
        report.covers = try library.coverCount(dueAt: now)
        return report
    }

    fileprivate func statusPage() throws -> [UInt8] {
        StatusPage.bytes(
            try statusReport(), rates: live.rates, ended: try library.endedTransfers(limit: StatusPage.endedLimit),
            now: now, views: try library.viewFolders().map(\.name))
    }
}

extension Library {
    /// Returns the completed and failed transfers among the last `limit` stored events, newest first.
    fileprivate func endedTransfers(limit: Int) throws -> [StatusPage.Ended] {
        try lastEvents(limit: limit).compactMap { event in
            guard let task = event.task, event.kind == .completed || event.kind == .failed, let path = event.path
            else { return nil }
            return StatusPage.Ended(
                path: path, isUpload: task.kind == .upload, time: event.time, size: task.received,
                error: event.kind == .failed ? task.error ?? "no reason is known" : nil)
        }
    }
}
