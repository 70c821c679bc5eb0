import Glibc
import TestSupport

// Opening, reading and closing, and the transfers that reads start.
extension ModelRun {
    private static var mostOpen: Int { 12 }

    mutating func open() async throws {
        guard files.count < Self.mostOpen, let (episode, path) = anyEpisodeFile() else { return try await close() }
        note("open \(Self.text(path)), \(episode.phase)")
        if let refusal = episode.item.refusal {
            guard isRefreshed(episode.id) else { return }
            let began = Self.now
            let expected = refusal == 403 ? EACCES : ENODATA
            do {
                let file = try await subject.open(path)
                try await subject.close(file)
                throw difference("open \(Self.text(path)): \(ModelErrno(expected))", "success")
            } catch let error as ModelErrno {
                if error.code != expected {
                    throw difference("open \(Self.text(path)): \(ModelErrno(expected))", "\(error)")
                }
            }
            change(episode.id) { $0.phase = .refused }
            noteRenewal(episode.id, Self.period(since: began))
            return
        }
        let file = try await openExpectingSuccess(path)
        // No waiting here: fstat(2) of an open file must be correct at once.
        let found = try await subject.status(of: file)
        let isTagged = Self.isTagged(path, episode)
        let tag =
            isTagged ? ModelTag(fileSize: Int(found.size), episode.content, title: episode.item.title) : nil
        if isTagged {
            noteTagged(episode.id, size: Int(found.size))
        } else if episode.confirmed == nil {
            change(episode.id) { $0.confirmed = $0.content.size }
        }
        guard let episode = library[episode: episode.id] else { return }
        files.append(
            OpenEpisode(
                file: file, episode: episode.id, path: path, generation: episode.generation, content: episode.content,
                tag: tag, hasLease: episode.phase == .cached))
        if isTagged, tag == nil {
            let audio = ModelTag.audioSize(of: episode.content)
            throw difference("fstat \(Self.text(path)): a tag and \(audio) bytes", "\(found)")
        }
        if !isTagged, found.size != episode.content.size {
            throw difference("fstat \(Self.text(path)): size \(episode.content.size)", "\(found)")
        }
        if found.inode != ModelTree.inode(isTagged ? 29 : 2, episode.id) {
            throw difference("fstat \(Self.text(path)): inode of episode \(episode.id)", "\(found)")
        }
    }

    private static func isTagged(_ path: [String], _ episode: ModelEpisode) -> Bool {
        path.first == "Tagged" && episode.hasTag
    }

    private mutating func noteTagged(_ id: Int64, size: Int) {
        let isOpen = files.contains { $0.episode == id }
        change(id) { $0.becomeTagged(size: size, isOpenElsewhere: isOpen) }
    }

    /// Whether the library has the current document of the episode's feed, and the server sends that feed. If not, the
    /// model cannot predict the result of opening a file that the server refuses: before podfs records the refusal, it
    /// fetches the feed and looks for a new address of the file.
    func isRefreshed(_ episode: Int64) -> Bool {
        guard let show = library.show(of: episode) else { return false }
        let feed = publication[feed: show.feed.number]
        return feed.refusal == nil && show.state == "active"
            && feed.text { publication.server.url($0) } == show.document
    }

    /// Records that podfs may have fetched the feed by itself, to look for a new address of a refused file, and found
    /// it unchanged (304).
    mutating func noteRenewal(_ episode: Int64, _ moment: ClosedRange<Int64>) {
        guard var show = library.show(of: episode) else { return }
        show.statuses.insert(304)
        show.refreshed = show.refreshed.lowerBound...moment.upperBound
        library[show: show.id] = show
    }

    /// Opens a file, and throws any error of the open as a difference from the model. The kernel may still have cached
    /// the node of an older rendition. Opening that node fails with ESTALE, but `subject.open` then repeats the lookup
    /// and does not throw.
    private func openExpectingSuccess(_ path: [String]) async throws -> Int32 {
        do {
            return try await subject.open(path)
        } catch let error as ModelErrno {
            throw difference("open \(Self.text(path)): success", "\(error)")
        }
    }

    mutating func close() async throws {
        guard let index = files.indices.randomElement(using: &generator) else { return }
        let open = files.remove(at: index)
        note("close \(Self.text(open.path))")
        try await subject.close(open.file)
    }

    mutating func closeAll() async throws {
        for open in files { try await subject.close(open.file) }
        for folder in folders { try await subject.closeFolder(folder.folder) }
        (files, folders) = ([], [])
    }

    mutating func read() async throws {
        if files.isEmpty { try await open() }
        guard let index = files.indices.randomElement(using: &generator) else { return }
        let open = files[index]
        let size = open.size
        var offset =
            chance(10)
            ? size + Int.random(in: 0...9_000, using: &generator) : Int.random(in: 0..<size, using: &generator)
        // A tag is a small part of the file, and would rarely be read otherwise.
        if let tag = open.tag, chance(40) { offset = Int.random(in: 0..<min(size, tag.size + 100), using: &generator) }
        let longest = chance(20) ? 300_000 : 9_000
        let count = Int.random(in: 1...longest, using: &generator)
        note("read \(Self.text(open.path)) \(offset)+\(count)")
        let what = "read \(Self.text(open.path)) \(offset)+\(count)"
        do {
            let found = try await subject.read(open.file, offset: Int64(offset), count: count)
            if let wrong = files[index].tag?.judge(found, at: offset, count: count) {
                throw difference("\(what): \(wrong.expected)", wrong.found)
            }
            if open.tag != nil, chance(30) {
                let again = try await subject.read(open.file, offset: Int64(offset), count: count)
                if again != found { throw difference("\(what): the same again", Self.compare(again, found)) }
            }
            let end = min(offset + count, size)
            let expected = offset < end ? open.content.bytes(in: offset..<end) : []
            if open.tag == nil, found != expected {
                throw difference("\(what): \(expected.count) bytes of the episode", Self.compare(found, expected))
            }
        } catch let error as ModelErrno {
            // ESTALE is expected if another rendition has replaced the open one.
            if error.code == ESTALE, isReplaced(open) { return note("which is stale") }
            throw difference("\(what): bytes", "\(error)")
        }
        if offset < size {
            // After a read in `Tagged` a lease is not certain: the mount takes one for each node separately, and may
            // have taken one only for the episode's own node.
            if open.tag == nil { files[index].hasLease = true }
            noteRead(open.episode)
        } else {
            // A read past the end may create a cache file too: only the server knows where the end is.
            change(open.episode) { $0.mayHaveFile = true }
            // For the same reason it may resume a download that a person has suspended.
            if library[episode: open.episode]?.phase == .suspended { noteRead(open.episode) }
        }
    }

    private static func compare(_ found: [UInt8], _ expected: [UInt8]) -> String {
        let place = zip(found, expected).enumerated().first { $0.element.0 != $0.element.1 }?.offset
        return "\(found.count) bytes" + (place.map { ", different from byte \($0) on" } ?? "")
    }

    private func isReplaced(_ open: OpenEpisode) -> Bool {
        guard let episode = library[episode: open.episode] else { return true }
        return !episode.generation.overlaps(open.generation) || episode.content != open.content
    }

    /// Records a read. The whole file is then fetched, except that a download that a person has suspended may stay
    /// suspended.
    private mutating func noteRead(_ id: Int64) {
        guard let episode = library[episode: id] else { return }
        switch episode.phase {
        case .moving: if !episode.hasTask { change(id) { $0.hasTask = true } }
        case .cached, .refused: return
        case .suspended:
            change(id) {
                $0.becomeMoving()
                $0.isSure = false
                $0.maySuspend = true
            }
        case .remote:
            change(id) {
                // If a part was cached already, the kernel may have served the read from its page cache. Such a read
                // starts no transfer.
                let isSure = !$0.mayHaveFile
                $0.becomeMoving()
                $0.isSure = isSure
            }
        }
    }

    mutating func change(_ id: Int64, _ body: (inout ModelEpisode) -> Void) {
        guard var episode = library[episode: id] else { return }
        body(&episode)
        library[episode: id] = episode
        changed()
    }

    /// Reads a whole file, and compares its content and the size from fstat(2) with the model.
    mutating func readWhole() async throws {
        var path = try await anyPath()
        if chance(70), let show = pick(library.shows) {
            let names: [ModelName] = tree.names(in: [show.name]) ?? []
            let small = names.filter { $0.inode >> 58 != 2 && $0.kind == .file }
            if let name = small.randomElement(using: &generator) { path = [show.name, name.name] }
            if chance(20), let name = pick(tree.names(in: ["Tagged", show.name]) ?? []) {
                path = ["Tagged", show.name, name.name]
            }
        }
        guard let node = tree.node(at: path), node.kind == .file else { return }
        var isMedia = false
        switch node.content {
        case .media(let content), .tagged(let content, _):
            if content.size > 400_000 { return }
            isMedia = true
        case .none, .bytes, .judged: break
        }
        guard node.episode.flatMap({ library[episode: $0]?.item.refusal }) == nil || !isMedia else { return }
        if !isMedia { try await settle() }
        note("read all of \(Self.text(path))")
        let before = node.episode.flatMap { library[episode: $0] }
        if isMedia, let before, before.confirmed == nil {
            change(before.id) { $0.confirmed = $0.content.size }
        }
        try await compare("content of \(Self.text(path))") { run in
            let file = try await run.subject.open(path)
            let status = try await run.subject.status(of: file)
            var bytes: [UInt8] = []
            while true {
                let part = try await run.subject.read(file, offset: Int64(bytes.count), count: 65_536)
                if part.isEmpty { break }
                bytes += part
            }
            try await run.subject.close(file)
            if status.size != bytes.count, !path[path.count - 1].hasPrefix(".status") {
                return ("fstat to return \(bytes.count) bytes", "\(status)")
            }
            switch run.tree.node(at: path)?.content {
            case .bytes(let expected):
                return bytes == expected ? nil : ("\(expected.count) bytes", Self.compare(bytes, expected))
            case .media(let content):
                let expected = content.bytes
                return bytes == expected ? nil : ("\(expected.count) bytes", Self.compare(bytes, expected))
            case .tagged(let content, let title):
                if let id = node.episode { run.noteTagged(id, size: Int(status.size)) }
                guard var tag = ModelTag(fileSize: Int(status.size), content, title: title) else {
                    return ("a tag and \(ModelTag.audioSize(of: content)) bytes", "\(status)")
                }
                return tag.judge(bytes, at: 0, count: Int(status.size))
            case .judged(let judge):
                return judge(bytes).map { ($0, String(decoding: bytes.prefix(2_000), as: UTF8.self)) }
            case nil, .some(.none): return ("no file", "\(bytes.count) bytes")
            }
        }
        switch node.inode >> 58 {
        case 2, 29: if let id = node.episode { noteRead(id) }
        case 15: if let id = node.episode { change(id) { $0.hasArtCached = true } }
        case 19: if let id = node.episode { change(id) { $0.hasTranscriptCached = true } }
        default: break
        }
    }
}
