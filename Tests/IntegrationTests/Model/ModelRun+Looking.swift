import Foundation
import Glibc
import TestSupport

// The operations that change nothing, and `perform(_:)`, which calls the function of any operation. Each operation is
// performed on `subject`, the filesystem under test, and its result is compared with the model, `tree` and `library`.
extension ModelRun {
    mutating func perform(_ operation: ModelOperation) async throws {
        switch operation {
        case .lookup:
            let path = try await anyPath()
            note("lstat \(Self.text(path))")
            try await compareStatus(path)
        case .oddLookup: try await lookUpOddName()
        case .list: try await list(anyFolder())
        case .listPart: try await listPart()
        case .closeFolder:
            guard let index = folders.indices.randomElement(using: &generator) else { return }
            let folder = folders.remove(at: index)
            note("closedir \(Self.text(folder.path))")
            try await subject.closeFolder(folder.folder)
        case .read: try await read()
        case .readWhole: try await readWhole()
        case .open: try await open()
        case .close: try await close()
        case .attributes: try await compareAttributes()
        case .readlink: try await readlink()
        case .control: try await control()
        case .badControl: try await controlBadly()
        case .statistics: try await compareStatistics()
        case .edit: edit()
        case .refresh: try await refresh()
        case .settle:
            note("settle")
            try await settle()
        case .sweep: try await sweep()
        case .evict: try await evict()
        case .rename: try await rename()
        case .subscription: try await changeSubscriptions()
        case .view: try await changeViews()
        case .tag: try await changeTags()
        case .killDaemon: try await killDaemon()
        case .remount: try await remount()
        }
    }

    static func text(_ path: [String]) -> String { "/" + path.joined(separator: "/") }

    mutating func anyFolder() async throws -> [String] {
        var path = try await anyPath()
        while tree.names(in: path) == nil { path.removeLast() }
        return path
    }

    // MARK: Status

    mutating func compareStatus(_ path: [String]) async throws {
        try await compare("lstat of \(Self.text(path))") { run in
            let found: ModelStatus
            do {
                found = try await run.subject.status(path)
            } catch let error as ModelErrno {
                if run.tree.node(at: path) == nil, error.code == ENOENT { return nil }
                return (run.tree.node(at: path) == nil ? "ENOENT" : "a node", "\(error)")
            }
            guard let node = run.tree.node(at: path) else { return ("ENOENT", "\(found)") }
            return run.judge(found, node)
        }
    }

    func judge(_ found: ModelStatus, _ node: ModelNode) -> (expected: String, found: String)? {
        // The inode number of a search term's folder contains a row number, assigned at its first lookup. The model
        // does not know it, so only the kind (the upper bits) is compared.
        let isTerm = [ModelTree.inode(17, 0), ModelTree.inode(36, 0)].contains(node.inode)
        if isTerm ? found.inode >> 58 != node.inode >> 58 : found.inode != node.inode {
            return ("inode \(node.inode)", "\(found)")
        }
        if found.kind != node.kind { return ("a \(node.kind)", "\(found)") }
        if found.permissions != node.permissions { return ("mode \(String(node.permissions, radix: 8))", "\(found)") }
        if found.links != node.links { return ("\(node.links) links", "\(found)") }
        if found.uid != subject.owner { return ("owner \(subject.owner)", "\(found)") }
        if !node.sizes.contains(found.size) { return ("size \(node.sizes)", "\(found)") }
        if !node.blocks.contains(found.blocks) { return ("blocks \(node.blocks)", "\(found)") }
        if !node.modified.contains(found.modified) { return ("mtime \(node.modified)", "\(found)") }
        if case .judged = node.content, found.blocks != (found.size + 511) / 512 {
            return ("blocks of \(found.size) bytes", "\(found)")
        }
        return nil
    }

    private mutating func lookUpOddName() async throws {
        let folder = try await chance(90) ? anyFolder() : anyPath()
        let existing = tree.names(in: folder).flatMap { pick($0) }?.name ?? "file"
        let stem = existing.split(separator: ".").first.map(String.init) ?? "x"
        var names: [String] = [existing.uppercased(), existing.lowercased(), existing + " ", " " + existing]
        names += [existing + ".bak", existing.decomposedStringWithCanonicalMapping, String(existing.dropLast())]
        names += [
            ".hidden", "nothing", "\u{1}", "a\nb", "%", "%2", "*", "cover.jpg", ".feed.xml.txt", "2026-01-01 .mp3",
        ]
        names += [String(repeating: "a", count: 255), String(repeating: "a", count: 256), stem + ".html"]
        names += [ModelTree.playlistName(existing), existing.replacingOccurrences(of: "%", with: "%25")]
        names.removeAll(where: \.isEmpty)
        let path = folder + [pick(names) ?? "nothing"]
        note("lstat \(Self.text(path)), oddly")
        guard tree.node(at: path) == nil else { return try await compareStatus(path) }
        try await compare("lstat of \(Self.text(path))") { run in
            let isTooLong = path[path.count - 1].utf8.count > 255
            let isFolder = run.tree.names(in: folder) != nil
            // A subject that follows links resolves a tag's link to the show's folder.
            let canBeFolder = isFolder || folder.first == "Tags"
            let expected =
                (isFolder ? [ENOENT] : [ENOTDIR, ENOENT]) + (isTooLong && canBeFolder ? [ENAMETOOLONG] : [])
            do {
                let found = try await run.subject.status(path)
                // Such a subject finds the files of the show below the link.
                if folder.first == "Tags", folder.count == 3, run.tree.node(at: [folder[2], path[3]]) != nil {
                    return nil
                }
                return ("no such name", "\(found)")
            } catch let error as ModelErrno {
                return expected.contains(error.code) ? nil : ("\(expected.map(ModelErrno.init))", "\(error)")
            }
        }
    }

    // MARK: Listings

    /// Returns the names of a folder, including `.` and `..`.
    private func allNames(in path: [String]) -> [ModelName] {
        let own = path.isEmpty ? ModelTree.rootInode : tree.node(at: path)?.inode ?? 0
        return [
            ModelName(name: ".", inode: own, kind: .folder),
            ModelName(name: "..", inode: tree.parentInode(of: path), kind: .folder),
        ] + (tree.names(in: path) ?? []).sorted { Self.order($0) < Self.order($1) }
    }

    /// Returns the key by which a folder's names are ordered: first the files and folders that each folder has once,
    /// then by row and kind, the parts of an inode number.
    private static func order(_ name: ModelName) -> UInt64 {
        let (kind, row) = (name.inode >> 58, name.inode & 0xFF_FFFF_FFFF)
        return uniqueKinds.contains(kind) ? kind : row << 6 | kind
    }

    mutating func list(_ path: [String]) async throws {
        if hasDownloads(path) { try await settle() }
        let size = Int.random(in: 512...16_384, using: &generator)
        note("list \(Self.text(path)), \(size) bytes at a time")
        // The filesystem reads the names from the library, so no event has to arrive before the comparison.
        let folder = try await subject.openFolder(path)
        var found: [ModelName] = []
        var offset: Int64 = 0
        while true {
            let part = try await subject.list(folder, from: offset, size: size)
            guard let last = part.last else { break }
            found += part.map(\.entry)
            offset = last.next
        }
        try await subject.closeFolder(folder)
        try compare(found, allNames(in: path), "list \(Self.text(path))")
    }

    /// Whether a folder's names depend on which downloads are complete.
    func hasDownloads(_ path: [String]) -> Bool {
        path.count == 1 && library.view(path[0])?.isDownloaded ?? false
    }

    private func compare(_ found: [ModelName], _ expected: [ModelName], _ what: String) throws {
        if found == expected { return }
        let index = zip(found, expected).enumerated().first { $0.element.0 != $0.element.1 }?.offset
        guard let index else {
            let names = Set(found.map(\.name)).symmetricDifference(expected.map(\.name))
            let stem = names.first.flatMap { $0.components(separatedBy: " - ").first }
            throw difference("\(what): \(expected.count) names", "\(found.count) names, but \(names)", about: stem)
        }
        let stem = found[index].name.components(separatedBy: " - ").first
        throw difference("\(what): entry \(index) \(expected[index])", "\(found[index])", about: stem)
    }

    /// Lists a part of an open listing, from any offset returned so far.
    private mutating func listPart() async throws {
        if folders.count < 2 || folders.count < 5 && chance(15) {
            let path = try await anyFolder()
            if hasDownloads(path) { try await settle() }
            note("opendir \(Self.text(path))")
            folders.append(
                OpenFolder(folder: try await subject.openFolder(path), path: path, names: [allNames(in: path)]))
        }
        guard let index = folders.indices.randomElement(using: &generator) else { return }
        let path = folders[index].path
        let start =
            folders[index].isFresh || chance(10)
            ? 0 : folders[index].offsets.keys.sorted().randomElement(using: &generator)
        guard let start, let offset = folders[index].offsets[start] else { return }
        if offset == 0 {
            // The folder may have been removed from the tree after it was opened.
            guard tree.names(in: path) != nil else { return }
            if hasDownloads(path) { try await settle() }
            // The first pass over an open folder returns the names as of the open, and each later pass returns the
            // current names. A show's folder is an exception: its names change only when the mount has received an
            // event. So a pass over it may return the names as of any pass so far.
            let names = allNames(in: path)
            if let top = path.first, library.view(top) == nil, ![".find", ".search", "Tags", "Tagged"].contains(top) {
                if !folders[index].names.contains(names) { folders[index].names.append(names) }
            } else if !folders[index].isFresh {
                folders[index].names = [names]
            }
            folders[index].offsets = [0: 0]
            folders[index].isFresh = false
        }
        let size = Int.random(in: 512...4_096, using: &generator)
        note("readdir \(Self.text(path)) from \(start), \(size) bytes")
        let found = try await subject.list(folders[index].folder, from: offset, size: size)
        let what = "readdir \(Self.text(path)) from \(start)"
        let fitting = folders[index].names.filter { names in
            names[min(start, names.count)...].prefix(max(found.count, 1)).elementsEqual(found.map(\.entry))
        }
        if fitting.isEmpty, let names = folders[index].names.last {
            if found.isEmpty, start < names.count { throw difference("\(what): \(names[start])", "the end") }
            guard start + found.count <= names.count else {
                throw difference(
                    "\(what): \(names.count - start) names", "\(found.count): \(found.map(\.entry.name))")
            }
            try compare(found.map(\.entry), Array(names[start..<start + found.count]), what)
        }
        folders[index].names = fitting
        for (step, entry) in found.enumerated() {
            let known = folders[index].offsets[start + step + 1]
            if let known, known != entry.next { throw difference("\(what): offset \(known)", "\(entry.next)") }
            folders[index].offsets[start + step + 1] = entry.next
        }
    }

    // MARK: Extended attributes

    private mutating func compareAttributes() async throws {
        let path = try await chance(70) ? (anyEpisodeFile()?.1 ?? []) : anyPath()
        guard tree.node(at: path)?.kind != .link else { return }
        if chance(20) {
            let name =
                pick(["user.podfs.nothing", "user.comment", "user.", "user.podfs.state.", "USER.podfs.id"]) ?? ""
            note("getxattr \(name) of \(Self.text(path))")
            do {
                let found = try await subject.attribute(name, path)
                throw difference("no attribute \(name)", found)
            } catch let error as ModelErrno {
                // The kernel itself rejects the unknown prefix `USER.` and the empty name after `user.`.
                let expected =
                    name.hasPrefix("USER") ? [ENODATA, EOPNOTSUPP] : name == "user." ? [ENODATA, EINVAL] : [ENODATA]
                if !expected.contains(error.code) { throw difference("ENODATA for \(name)", "\(error)") }
            }
            return
        }
        note("getfattr \(Self.text(path))")
        try await compareAttributes(path)
    }

    /// - Parameter sample: The number of attributes whose values are compared; all names are compared.
    mutating func compareAttributes(_ path: [String], sample: Int = .max) async throws {
        try await compare("getfattr of \(Self.text(path))") { run in
            var found: [String: String] = [:]
            let listed = try await run.subject.attributeNames(path)
            if let node = run.tree.node(at: path), sample < listed.count {
                let names = Set(listed)
                for (name, expected) in node.attributes where !names.contains(name) && !expected.accepts(nil) {
                    return ("\(name) = \(expected)", "none")
                }
                for name in listed where node.attributes[name] == nil { return ("no \(name)", "one") }
            }
            for name in sample < listed.count ? run.some(sample, of: listed) : listed {
                do {
                    found[name] = try await run.subject.attribute(name, path)
                } catch let error as ModelErrno where error.code == ENODATA {
                    // The attribute has disappeared since the listing.
                }
            }
            run.observe(found, path)
            guard let node = run.tree.node(at: path) else { return ("no node", "\(found)") }
            let names = sample < listed.count ? Set(found.keys) : Set(found.keys).union(node.attributes.keys)
            for name in names.sorted() {
                guard let expected = node.attributes[name] else {
                    let phase = node.episode.flatMap { run.library[episode: $0] }.map { ", \($0.phase)" } ?? ""
                    return ("no \(name)\(phase)", found[name] ?? "")
                }
                if !expected.accepts(found[name]) {
                    let phase = node.episode.flatMap { run.library[episode: $0] }.map { ", \($0.phase)" } ?? ""
                    return ("\(name) = \(expected)\(phase)", found[name] ?? "none")
                }
            }
            return nil
        }
    }

    /// Narrows the expected state to the observed values.
    private mutating func observe(_ found: [String: String], _ path: [String]) {
        guard let id = tree.node(at: path)?.episode, var episode = library[episode: id],
            found["user.podfs.state"] != nil
        else { return }
        if episode.phase == .moving, found["user.podfs.state"] == "cached" {
            episode.becomeCached()
            changed()
        }
        if let generation = found["user.podfs.generation"].flatMap({ Int($0) }),
            episode.generation.contains(generation)
        {
            episode.generation = generation...generation
        }
        library[episode: id] = episode
    }

    private mutating func readlink() async throws {
        let path = try await anyPath()
        note("readlink \(Self.text(path))")
        try await compare("readlink \(Self.text(path))") { run in
            let expected = run.tree.node(at: path)?.target
            do {
                let found = try await run.subject.target(path)
                return found == expected ? nil : (expected ?? "EINVAL", found)
            } catch let error as ModelErrno {
                return expected == nil && error.code == EINVAL ? nil : (expected ?? "EINVAL", "\(error)")
            }
        }
    }

    private mutating func compareStatistics() async throws {
        try await settle()
        note("statfs")
        let limit = cacheLimit
        try await compare("statfs") { run in
            let found = try await run.subject.statistics()
            let lower = run.library.episodes.reduce(0) { $0 + $1.received.lowerBound }
            let upper = run.library.episodes.reduce(0) { $0 + $1.received.upperBound }
            let free = (limit - Int64(upper)) / 4_096...(limit - Int64(lower)) / 4_096
            return found.blocks == limit / 4_096 && free.contains(found.free) && found.longestName == 255
                ? nil : ("\(limit / 4_096) blocks, \(free) free", "\(found)")
        }
    }

    // MARK: All of it

    /// Waits until all transfers are complete, then compares all folders and nodes.
    mutating func sweep() async throws {
        note("compare the whole tree")
        try await settle()
        var waiting: [[String]] = [[]]
        while let path = waiting.popLast() {
            try await compareStatus(path)
            guard let names = tree.names(in: path) else {
                if tree.node(at: path)?.episode != nil { try await compareAttributes(path, sample: 3) }
                continue
            }
            try await list(path)
            if path.count == 1 { try await compareAttributes(path) }
            waiting += names.map { path + [$0.name] }
        }
    }
}

/// The kinds of node of which a folder contains one at most.
private let uniqueKinds: Set<UInt64> = [7, 8, 9, 10, 11, 14, 16, 21, 22, 23, 24, 27, 30, 32, 33, 34, 35, 37, 38, 40]
