import Foundation
import TestSupport

// The contents of generated files and the values of extended attributes.
extension ModelTree {
    // MARK: Extended attributes

    func attributes(of episode: ModelEpisode, _ show: ModelShow) -> [String: ModelText] {
        let item = episode.item
        var texts: [String: ModelText] = [:]
        func set(_ name: String, _ text: String?) { texts[name] = text.map(ModelText.exactly) }
        let received = Int64(episode.received.lowerBound)...Int64(episode.received.upperBound)
        let isWhole = episode.phase == .cached
        set("user.podfs.id", "\(episode.id)")
        texts["user.podfs.generation"] = .number(
            ModelRange(Int64(episode.generation.lowerBound)...Int64(episode.generation.upperBound)))
        texts["user.podfs.state"] = .oneOf(episode.states)
        texts["user.podfs.bytes_received"] = .number(ModelRange(received))
        if received == 0...0 {
            set("user.podfs.progress", "0.0")
            set("user.podfs.ranges", "")
        } else {
            texts["user.podfs.progress"] = isWhole ? .exactly("100.0") : .anything
            texts["user.podfs.ranges"] =
                !isWhole ? .anything : item.size > 0 ? .exactly("0-\(episode.content.size - 1)") : .exactly("")
        }
        let isUnsure = episode.phase == .moving || episode.phase == .suspended
        if episode.confirmed == nil, isUnsure || episode.phase == .refused || item.claim.source == "unknown" {
            texts["user.podfs.bytes_expected"] = isUnsure || episode.phase == .refused ? .optional : nil
        } else {
            texts["user.podfs.bytes_expected"] = .number(.oneOf(Set(episode.sizes.map(Int64.init))))
        }
        if episode.phase == .moving {
            for name in ["rate", "eta", "error", "sha256"] { texts["user.podfs." + name] = .optional }
        }
        if episode.phase == .suspended || episode.phase == .refused { texts["user.podfs.error"] = .optional }
        if episode.phase == .refused, !episode.mayBeForgotten { texts["user.podfs.error"] = .anything }
        if isWhole { set("user.podfs.sha256", digest(episode.content)) }
        if isUnsure, episode.confirmed == nil {
            texts["user.podfs.size_source"] = .oneOf([item.claim.source, "server"])
        } else {
            set("user.podfs.size_source", episode.confirmed == nil ? item.claim.source : "server")
        }
        set("user.podfs.guid", item.guid)
        set("user.podfs.season", item.season.map(String.init))
        set("user.podfs.episode", item.episode.map(String.init))
        set("user.podfs.duration", item.duration.map(String.init))
        set("user.podfs.played", episode.isPlayed ? "1" : "0")
        set("user.podfs.position", episode.position.map { $0 == $0.rounded() ? "\(Int($0))" : "\($0)" })
        set("user.xdg.origin.url", url(item.path))
        set("user.xdg.referrer.url", url(show.feed.path))
        set("user.mime_type", item.kind.type)
        set("user.dublincore.title", item.title)
        set("user.dublincore.publisher", show.feed.title)
        set("user.dublincore.date", item.date.map { $0 + "T08:00:00Z" })
        set("user.dublincore.description", item.notes)
        set("user.dublincore.identifier", item.guid)
        set("user.dublincore.language", show.feed.language)
        return texts
    }

    func attributes(of show: ModelShow) -> [String: ModelText] {
        var texts: [String: ModelText] = [:]
        func set(_ name: String, _ text: String?) { texts[name] = text.map(ModelText.exactly) }
        set("user.podfs.feed.state", show.state)
        if show.state == "failed" { texts["user.podfs.feed.error"] = .anything }
        texts["user.podfs.feed.http_status"] = .oneOf(Set(show.statuses.map(String.init)))
        texts["user.podfs.feed.last_refresh"] = .moment(show.refreshed)
        texts["user.podfs.feed.next_refresh"] = .optional
        set("user.podfs.feed.episodes", "\(show.episodes.count)")
        let cached = show.episodes.count { $0.phase == .cached }
        let moving = show.episodes.count { $0.phase == .moving }
        texts["user.podfs.feed.cached"] = .number(ModelRange(Int64(cached)...Int64(cached + moving)))
        set("user.xdg.origin.url", url(show.feed.path))
        set("user.dublincore.title", show.feed.title)
        set("user.dublincore.description", show.feed.description)
        set("user.dublincore.language", show.feed.language)
        return texts
    }

    // MARK: Generated files

    func playlist(_ show: ModelShow) -> String {
        let episodes = show.feed.isSerial ? show.listed.reversed() : show.listed
        return Self.playlist(show.feed.title, episodes.map { ($0, $0.name) })
    }

    /// Returns the node of a view's playlist. The model does not predict the order `recently_played`, so the lines of
    /// such a playlist are compared without their order. A view of downloaded episodes may also list episodes that are
    /// still moving in the model, since their downloads may have completed.
    func viewPlaylist(_ view: ModelView, _ inode: UInt64) -> ModelNode {
        let text = Self.playlist(view.name, links(view))
        let lines = text.split(separator: "\n").sorted()
        let isMoving = library.episodes.contains { $0.phase == .moving }
        let content: ModelNode.Content =
            switch view.isOldestFirst {
            case _ where view.isDownloaded && isMoving:
                .judged {
                    // With a limit, a new episode displaces another.
                    let found = Set(String(decoding: $0, as: UTF8.self).split(separator: "\n"))
                    return view.limit != nil || found.isSuperset(of: lines) ? nil : text
                }
            case nil:
                .judged { String(decoding: $0, as: UTF8.self).split(separator: "\n").sorted() == lines ? nil : text }
            default: .bytes(Array(text.utf8))
            }
        return ModelNode(file: inode, content, modified: .between(0, .max))
    }

    private static func playlist(_ title: String, _ episodes: [(ModelEpisode, name: String)]) -> String {
        var text = "#EXTM3U\n#PLAYLIST:\(title)\n"
        for (episode, name) in episodes {
            let line = Self.playlistName(name)
            text += "#EXTINF:\(episode.item.duration ?? -1),\(episode.item.title)\n"
            text += (line.contains(":") ? "./" : "") + line + "\n"
        }
        return text
    }

    /// Returns a file's name as written in a playlist.
    static func playlistName(_ name: String) -> String {
        let hex = "%[0-9A-Fa-f]{2}"
        guard name.contains("#") || name.contains("?") || name.range(of: hex, options: .regularExpression) != nil else {
            return name
        }
        return name.replacingOccurrences(of: "%", with: "%25").replacingOccurrences(of: "#", with: "%23")
            .replacingOccurrences(of: "?", with: "%3F")
    }

    /// The possible states of tasks, by path. The empty string among them means that there may be no task.
    private var tasks: [String: Set<String>] {
        var tasks: [String: Set<String>] = [:]
        for show in library.shows {
            for episode in show.episodes {
                switch episode.phase {
                case .suspended: tasks["\(show.name)/\(episode.name)"] = ["suspended"]
                case .moving: tasks["\(show.name)/\(episode.name)"] = ["queued", "running", "suspended", ""]
                case .refused: tasks["\(show.name)/\(episode.name)"] = ["failed", ""]
                case .remote, .cached: break
                }
            }
        }
        return tasks
    }

    func judgeStatus(_ bytes: [UInt8]) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        let tasks = tasks
        let certain = tasks.values.count { !$0.contains("") }
        if tasks.isEmpty { return text == "no active tasks\n" ? nil : "“no active tasks”" }
        if certain == 0, text == "no active tasks\n" { return nil }
        let lines = text.split(separator: "\n")
        guard let heading = lines.first, heading.contains(" suspended, ") else { return "a heading" }
        for line in lines.dropFirst() where !tasks.keys.contains(where: { line.contains($0) }) {
            return "lines of \(tasks) only"
        }
        for (path, states) in tasks where !states.contains("") && !lines.contains(where: { $0.contains(path) }) {
            return "a line of \(path), which is \(states)"
        }
        return nil
    }

    /// Returns the text of an HTML page with character references decoded; `nil` if it is not HTML.
    private static func text(of page: [UInt8]) -> String? {
        guard page.starts(with: Array("<!DOCTYPE html>".utf8)) || page.starts(with: Array("<!doctype html>".utf8))
        else {
            return nil
        }
        var text = String(decoding: page, as: UTF8.self)
        for (escaped, plain) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")] {
            text = text.replacingOccurrences(of: escaped, with: plain)
        }
        return text
    }

    func judgeStatusPage(_ bytes: [UInt8]) -> String? {
        guard let text = Self.text(of: bytes) else { return "a page" }
        // The names of the show and of the episode are in separate elements.
        for (path, states) in tasks
        where !states.contains("") && !path.split(separator: "/").allSatisfy({ text.contains($0) }) {
            return "\(path), which is \(states)"
        }
        return nil
    }

    static func judgeView(_ bytes: [UInt8]) -> String? { text(of: bytes) == nil ? "a page" : nil }

    func judgeShelf(_ bytes: [UInt8]) -> String? {
        guard let text = Self.text(of: bytes) else { return "a page" }
        return library.shows.first { !text.contains($0.feed.title) }.map { "the show \($0.feed.title)" }
    }

    static func judgePage(_ bytes: [UInt8], _ show: ModelShow) -> String? {
        guard let text = text(of: bytes) else { return "a page" }
        return show.episodes.first { !text.contains($0.item.title) }.map { "the episode \($0.item.title)" }
    }

    func judgeStatusJSON(_ bytes: [UInt8]) -> String? {
        guard let value = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any],
            let found = value["tasks"] as? [[String: Any]], let summary = value["summary"] as? [String: Any]
        else { return "JSON with tasks and summary" }
        var states: [String: String] = [:]
        for task in found {
            guard let path = task["path"] as? String, let state = task["state"] as? String else { return "whole tasks" }
            states[path] = state
        }
        let tasks = tasks
        for (path, state) in states where !(tasks[path]?.contains(state) ?? false) {
            return "\(path) to be \(tasks[path].map { "\($0.sorted())" } ?? "no task")"
        }
        for (path, allowed) in tasks where states[path] == nil && !allowed.contains("") {
            return "a task \(path), which is \(allowed)"
        }
        for name in ["running", "queued", "suspended", "failed"] {
            let count = states.values.count { $0 == name }
            if summary[name] as? Int != count { return "\(count) \(name) in the summary" }
        }
        return nil
    }

    func judgeSubscriptions(_ bytes: [UInt8]) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        for show in library.shows where !text.contains("xmlUrl=\"\(url(show.feed.path))\"") {
            return "an outline of \(show.name)"
        }
        let count = text.components(separatedBy: "xmlUrl=").count - 1
        // A show has an outline in the folder of each of its tags.
        let expected = library.shows.reduce(0) { $0 + max(1, $1.tags.count) }
        return count == expected ? nil : "\(expected) outlines, not \(count)"
    }

    func judgeFeed(_ bytes: [UInt8], _ show: ModelShow) -> String? {
        guard let value = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any],
            let health = value["health"] as? [String: Any], let items = value["items"] as? [[String: Any]]
        else { return "JSON with health and items" }
        if health["state"] as? String != show.state { return "the state \(show.state)" }
        guard let status = health["status"] as? Int, show.statuses.contains(status) else {
            return "a status of \(show.statuses)"
        }
        if health["episodes"] as? Int != show.episodes.count { return "\(show.episodes.count) episodes" }
        let guids = show.feed.items.filter(\.isListed).map(\.guid)
        return items.map { $0["guid"] as? String ?? "" } == guids ? nil : "items \(guids)"
    }

    static func judgeChapters(_ bytes: [UInt8], _ episode: ModelEpisode) -> String? {
        guard let value = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any],
            let chapters = value["chapters"] as? [[String: Any]]
        else { return "JSON chapters" }
        if value["title"] as? String != episode.item.title { return "the title \(episode.item.title)" }
        let titles = chapters.map { $0["title"] as? String ?? "" }
        let starts = chapters.map { $0["startTime"] as? Double ?? -1 }
        // Chapters are a minute apart. podfs omits the chapters that start at or after the episode's end, unless these
        // are more than half of all chapters.
        var expected = episode.item.chapters
        if let duration = episode.item.duration, duration > 0 {
            let inside = expected.indices.filter { $0 * 60 < duration }.count
            if inside * 2 >= expected.count { expected.removeLast(expected.count - inside) }
        }
        let agrees = titles == expected && starts == expected.indices.map { Double($0 * 60) }
        return agrees ? nil : "chapters \(expected)"
    }
}
