import Foundation
import Fuse
import PodcastLibrary
import SystemPackage
import TestSupport
import Testing
import Transfers

@testable import PodcastFilesystem

/// Lookups by node id, as the kernel sends them for the file handles of an NFS export.
@Suite struct ExportTests {
    @Test func everyNodeIsFoundByItsID() throws {
        let mounted = try Mounted()
        try mounted.subscribe(episodes: 2)
        let paths: [[String]] = [
            [], [".status"], ["Latest"], ["Show"], ["Show", "playlist.m3u8"], ["Show", "index.html"],
            ["Show", ".notes"],
            ["Show", "2026-01-01 Episode 1.mp3"], ["Show", ".feed.json"],
        ]
        for path in paths {
            let node = try mounted.node(at: path)
            guard case .entry(let same)? = mounted.lookup(".", in: node) else {
                Issue.record("\(path) is not found by its id")
                continue
            }
            #expect(same.node == node, "\(path)")
        }
    }

    @Test func aFolderFindsItsParent() throws {
        let mounted = try Mounted()
        try mounted.subscribe()
        let show = try mounted.entry("Show").node
        let notes = try mounted.entry("Show", ".notes").node
        for (node, parent) in [(show, NodeID.root), (notes, show), (.root, .root)] {
            guard case .entry(let entry)? = mounted.lookup("..", in: node) else {
                Issue.record("no parent")
                continue
            }
            #expect(entry.node == parent)
        }
        let episode = try mounted.entry("Show", "2026-01-01 Episode 1.mp3").node
        #expect(mounted.lookup("..", in: episode) == .error(.noSuchFileOrDirectory))
    }

    @Test func aForgottenNodeIsFound() throws {
        let mounted = try Mounted()
        try mounted.subscribe()
        let node = try mounted.entry("Show", "2026-01-01 Episode 1.mp3").node
        mounted.filesystem.forget(node: node, count: 1)
        guard case .entry(let entry)? = mounted.lookup(".", in: node) else { throw Mounted.MissingEntry(name: ".") }
        #expect(entry.node == node)
    }

    @Test func aNodeOfAnOldGenerationIsNotFound() throws {
        let mounted = try Mounted()
        try mounted.subscribe()
        let node = try mounted.entry("Show", "2026-01-01 Episode 1.mp3").node
        try mounted.library.dropRendition(episode: try mounted.episode().id, now: 1_700_000_001)
        #expect(mounted.lookup(".", in: node) == .error(.noSuchFileOrDirectory))
    }

    @Test func nodesOfSearchesAndRemovedNodesAreNotFound() throws {
        let mounted = try Mounted()
        let show = try mounted.subscribe()
        let episode = NodeNumber(kind: .episode, generation: 1, row: try mounted.episode().id)
        let term = try mounted.entry(".search", "news").node
        let unknown = [
            NodeNumber.search.node, term, NodeNumber(kind: .foundShow, generation: 1, row: show.id).node,
            NodeNumber(kind: .show, row: 99).node, NodeNumber(kind: .episode, generation: 1, row: 99).node,
            NodeID(rawValue: .max),
        ]
        for node in unknown { #expect(mounted.lookup(".", in: node) == .error(.noSuchFileOrDirectory)) }
        _ = try mounted.library.unsubscribe(podcast: show.id)
        for node in [NodeNumber(kind: .show, row: show.id), episode] {
            #expect(mounted.lookup(".", in: node.node) == .error(.noSuchFileOrDirectory))
        }
    }
}
