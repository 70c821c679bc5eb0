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
        let places: [(NodeNumber.Kind, UInt64)] = [
            (.show, 0x04), (.episode, 0x08), (.view, 0x10), (.viewLink, 0x14), (.playlist, 0x1C), (.feedJSON, 0x20),
            (.feedXML, 0x24), (.notesFolder, 0x28), (.chaptersFolder, 0x2C), (.notes, 0x30), (.chapters, 0x34),
            (.cover, 0x38), (.art, 0x3C), (.term, 0x44), (.foundShow, 0x48), (.vtt, 0x4C), (.srt, 0x50),
            (.viewPlaylist, 0x58), (.viewNoMedia, 0x5C), (.tag, 0x64), (.tagLink, 0x68), (.viewPage, 0x88),
            (.findTerm, 0x90), (.findPlaylist, 0x94), (.findNoMedia, 0x98), (.findLink, 0x9C),
        ]
        for (kind, place) in places {
            let number = NodeNumber(kind: kind, generation: 5, row: 7)
            #expect(number.inode == place << 56 | 7 && number.node.rawValue == number.inode | 5 << 40, "\(kind)")
        }
        let (search, tags, find) = (NodeNumber.search.inode, NodeNumber.tags.inode, NodeNumber.find.inode)
        #expect([search, tags, find] == [0x4000_0000_0000_0001, 0x6000_0000_0000_0001, 0x8C00_0000_0000_0001])
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
