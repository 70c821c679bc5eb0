import Fuse
import PodcastFilesystem
import Testing

struct NodeNumberTests {
    @Test func numbersSurviveTheirEncoding() {
        let rows: [Int64] = [0, 1, 2, 77, 1 << 32, 1 << 40 - 1]
        for kind in NodeNumber.Kind.allCases {
            for generation in [0, 1, 2, 1_000, 1 << 18 - 1] {
                for row in rows {
                    let number = NodeNumber(kind: kind, generation: generation, row: row)
                    #expect(NodeNumber(number.node) == number)
                }
            }
        }
    }

    @Test func numbersAreTheSameInEveryVersion() {
        // Programs such as backups and indexers have stored these inode numbers.
        #expect(NodeNumber.root.node == .root)
        #expect(NodeNumber.root.inode == 0x8000_0001)
        #expect(NodeNumber(kind: .show, row: 3).node.rawValue == 0x0400_0000_0000_0003)
        #expect(NodeNumber(kind: .episode, generation: 5, row: 7).node.rawValue == 0x0800_0500_0000_0007)
        #expect(NodeNumber(kind: .episode, generation: 5, row: 7).inode == 0x0800_0000_0000_0007)
        #expect(NodeNumber(kind: .view, row: 1).node.rawValue == 0x1000_0000_0000_0001)
        #expect(NodeNumber(kind: .viewLink, generation: 3, row: 7).inode == 0x1400_0000_0000_0007)
        #expect(NodeNumber(kind: .playlist, row: 3).inode == 0x1C00_0000_0000_0003)
        #expect(NodeNumber(kind: .feedJSON, row: 3).inode == 0x2000_0000_0000_0003)
        #expect(NodeNumber(kind: .feedXML, row: 3).inode == 0x2400_0000_0000_0003)
        #expect(NodeNumber(kind: .notesFolder, row: 3).inode == 0x2800_0000_0000_0003)
        #expect(NodeNumber(kind: .chaptersFolder, row: 3).inode == 0x2C00_0000_0000_0003)
        #expect(NodeNumber(kind: .notes, row: 7).inode == 0x3000_0000_0000_0007)
        #expect(NodeNumber(kind: .chapters, row: 7).inode == 0x3400_0000_0000_0007)
        #expect(NodeNumber(kind: .cover, row: 3).inode == 0x3800_0000_0000_0003)
        #expect(NodeNumber(kind: .art, row: 7).inode == 0x3C00_0000_0000_0007)
        #expect(NodeNumber(kind: .vtt, row: 7).inode == 0x4C00_0000_0000_0007)
        #expect(NodeNumber(kind: .srt, row: 7).inode == 0x5000_0000_0000_0007)
        #expect(NodeNumber.search.node.rawValue == 0x4000_0000_0000_0001)
        #expect(NodeNumber(kind: .term, row: 9).node.rawValue == 0x4400_0000_0000_0009)
        #expect(NodeNumber(kind: .foundShow, generation: 9, row: 3).inode == 0x4800_0000_0000_0003)
        #expect(NodeNumber(kind: .viewPlaylist, row: 3).inode == 0x5800_0000_0000_0003)
        #expect(NodeNumber(kind: .viewNoMedia, row: 3).inode == 0x5C00_0000_0000_0003)
        #expect(NodeNumber(kind: .viewPage, row: 3).inode == 0x8800_0000_0000_0003)
        #expect(NodeNumber.find.inode == 0x8C00_0000_0000_0001)
        #expect(NodeNumber(kind: .findTerm, row: 9).inode == 0x9000_0000_0000_0009)
        #expect(NodeNumber(kind: .findPlaylist, row: 9).inode == 0x9400_0000_0000_0009)
        #expect(NodeNumber(kind: .findNoMedia, row: 9).inode == 0x9800_0000_0000_0009)
        #expect(NodeNumber(kind: .findLink, generation: 9, row: 7).inode == 0x9C00_0000_0000_0007)
        #expect(NodeNumber.tags.inode == 0x6000_0000_0000_0001)
        #expect(NodeNumber(kind: .tag, row: 3).inode == 0x6400_0000_0000_0003)
        #expect(NodeNumber(kind: .tagLink, generation: 2, row: 3).inode == 0x6800_0000_0000_0003)
        #expect(NodeNumber(kind: .show, row: 3).inode == 0x0400_0000_0000_0003)
    }

    @Test func aNewGenerationIsAnotherNodeAndTheSameFile() {
        let old = NodeNumber(kind: .episode, generation: 1, row: 9)
        let new = NodeNumber(kind: .episode, generation: 2, row: 9)
        #expect(old.node != new.node && old.inode == new.inode)
        #expect(old.inode != NodeNumber(kind: .show, row: 9).inode)
        #expect(old.inode != NodeNumber(kind: .episode, generation: 1, row: 10).inode)
    }

    @Test func generationsWrapAroundAfterTheirLastBit() {
        let number = NodeNumber(kind: .episode, generation: 1 << 18 + 3, row: 9)
        #expect(number.node == NodeNumber(kind: .episode, generation: 3, row: 9).node)
    }

    @Test func foreignNumbersAreRejected() {
        #expect(NodeNumber(NodeID(rawValue: .max)) == nil)
        #expect(NodeNumber(NodeID(rawValue: 3 << 58)) == nil)
    }
}
