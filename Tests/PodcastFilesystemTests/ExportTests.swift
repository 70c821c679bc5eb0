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
    private let mounted: Mounted
    private let show: Podcast

    init() throws {
        mounted = try Mounted()
        show = try mounted.subscribe(episodes: 2)
    }

    private static let episode = ["Show", "2026-01-01 Episode 1.mp3"]

    @Test(arguments: [
        [], [".status"], ["Latest"], ["Show"], ["Show", "playlist.m3u8"], ["Show", "index.html"], ["Show", ".notes"],
        episode, ["Show", ".feed.json"],
    ]) func everyNodeIsFoundByItsIDAndAFolderFindsItsParent(path: [String]) throws {
        let node = try mounted.node(at: path)
        // The kernel may have forgotten the node.
        mounted.filesystem.forget(node: node, count: 1)
        guard case .entry(let same)? = mounted.lookup(".", in: node) else { throw Mounted.MissingEntry(name: ".") }
        #expect(same.node == node)
        if same.attributes.kind == .directory {
            guard case .entry(let entry)? = mounted.lookup("..", in: node) else {
                throw Mounted.MissingEntry(name: "..")
            }
            #expect(try entry.node == mounted.node(at: path.dropLast()))
        } else {
            #expect(mounted.lookup("..", in: node) == .error(.noSuchFileOrDirectory))
        }
    }

    @Test func aNodeOfAnOldGenerationIsNotFound() throws {
        let node = try mounted.node(at: Self.episode)
        try mounted.library.dropRendition(episode: try mounted.episode().id, now: 1_700_000_001)
        #expect(mounted.lookup(".", in: node) == .error(.noSuchFileOrDirectory))
    }

    @Test func nodesOfSearchesAndRemovedNodesAreNotFound() throws {
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
