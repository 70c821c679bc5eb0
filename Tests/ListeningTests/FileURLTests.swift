import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastFilesystem
@testable import PodcastService

/// The paths in URLs that players announce, and the symbolic links that lead to a mount.
@Suite struct FileURLTests {
    @Test(
        arguments: [
            ("file:///mnt/Show/a.mp3", "/mnt/Show/a.mp3"), ("FILE://localhost/a%20b", "/a b"), ("file:/a", "/a"),
            ("file:///%C3%BC%25?t=1#x", "/ü%"), ("file:///a%2Fb", "/a/b"),
        ]) func pathsAreDecoded(_ url: String, _ path: String)
    {
        #expect(FileURL.path(url).map { String(decoding: $0, as: UTF8.self) } == path)
    }

    @Test(
        arguments: [
            "", "/mnt/a", "http://host/a", "file://host/a", "file:a", "file:///a%0", "file:///a%zz", "file:///a%00b",
            "file:", "file://", "file:///" + String(repeating: "a", count: 1_000_000),
        ]) func otherURLsHaveNoPath(_ url: String)
    {
        #expect(FileURL.path(url) == nil)
    }

    @Test func aPathIsComparedByItsComponents() {
        func below(_ path: String, _ folder: String = "/mnt/p") -> [String]? {
            FileURL.components(Array(path.utf8), below: folder)
        }
        #expect(below("/mnt/p/Show/a.mp3") == ["Show", "a.mp3"])
        #expect(below("//mnt/./p//Show/a.mp3") == ["Show", "a.mp3"])
        #expect(below("/mnt/p") == nil)
        #expect(below("/mnt/pp/Show") == nil)
        #expect(below("/home/other/mnt/p/Show") == nil)
        #expect(below("/mnt/p/../../etc/passwd") == ["..", "..", "etc", "passwd"], "the mount finds no such entry")
        #expect(FileURL.components([0x2F, 0xFF, 0xFE], below: "/") == nil)
    }

    /// Returns a resolver with a table of mounts and the given links; `asked` receives each path whose link is read.
    private func links(_ targets: [String: String], asked: @escaping (String) -> Void = { _ in }) -> LinkedPath {
        LinkedPath(
            mountInfo: """
                20 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
                21 20 8:2 / /home rw shared:1 - btrfs /dev/sda2 rw
                22 21 0:50 / /home/me/nas rw - nfs4 server:/ rw
                23 21 0:51 / /home/me/auto rw - autofs systemd-1 rw
                24 20 0:52 / /mnt/pod\\040casts rw - fuse.podfs podfs rw
                25 21 0:53 / /home/me/other rw - fuse.sshfs host: rw
                """
        ) { path in
            asked(path)
            return targets[path]
        }
    }

    /// To Linux, `é` and `e` with an accent are two folders.
    @Test func theFormsOfACharacterAreDifferentFolders() {
        let (composed, decomposed) = ("/mnt/caf\u{E9}", "/mnt/cafe\u{301}")
        let links = LinkedPath(
            mountInfo: """
                20 1 8:1 / / rw - ext4 /dev/sda1 rw
                21 20 0:52 / \(composed) rw - fuse.podfs podfs rw
                """
        ) { $0.utf8.elementsEqual("\(decomposed)/link".utf8) ? "\(composed)/a.mp3" : nil }
        #expect(links.components(of: "\(composed)/a.mp3", below: composed) == ["a.mp3"])
        #expect(links.components(of: "\(decomposed)/a.mp3", below: composed) == nil)
        #expect(links.components(of: "\(decomposed)/link", below: composed) == ["a.mp3"])
    }

    @Test func linksLeadToTheMount() {
        let links = links([
            "/home/me/Podcasts": "/mnt/pod casts", "/home/me/relative": "../../mnt/pod casts/Show",
            "/home/me/chain": "Podcasts/./Show", "/home/me/file.mp3": "Podcasts/Show/a.mp3",
        ])
        let folder = "/mnt/pod casts"
        for path in [
            "/home/me/Podcasts/Show/a.mp3", "/home/me/relative/a.mp3", "/home/me/chain/a.mp3", "/home/me/file.mp3",
            "/home/me/x/../Podcasts/Show/a.mp3",
        ] {
            #expect(links.components(of: path, below: folder) == ["Show", "a.mp3"], "\(path)")
        }
        #expect(links.components(of: "/home/me/Music/a.mp3", below: folder) == nil)
        #expect(links.components(of: "/home/me/Podcasts/Show/../a.mp3", below: folder) == nil)
        #expect(links.components(of: "/home/me/Podcasts/../../etc/passwd", below: folder) == nil)
    }

    @Test func networkFilesystemsAndAutomountsAreNotAccessed() {
        var asked: [String] = []
        let links = links(["/home/me/nas/link": "/mnt/pod casts", "/home/me/loop": "loop"]) { asked.append($0) }
        for path in ["/home/me/nas/link/Show/a.mp3", "/home/me/auto/x/a.mp3", "/home/me/other/x/a.mp3"] {
            #expect(links.components(of: path, below: "/mnt/pod casts") == nil)
        }
        #expect(asked.allSatisfy { $0 == "/home/me" }, "\(asked)")
        #expect(links.components(of: "/home/me/loop/a.mp3", below: "/mnt/pod casts") == nil)
    }
}
