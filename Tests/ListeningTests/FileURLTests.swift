import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastFilesystem
@testable import PodcastService

/// The paths in URLs that players announce.
@Suite struct FileURLTests {
    @Test(
        arguments: [
            ("file:///mnt/Show/a.mp3", "/mnt/Show/a.mp3"), ("FILE://localhost/a%20b", "/a b"), ("file:/a", "/a"),
            ("file:///%C3%BC%25?t=1#x", "/ü%"), ("file:///a%2Fb", "/a/b"),
        ]) func pathsAreDecoded(_ url: String, _ path: String)
    {
        #expect(FileURL.path(url) == path)
    }

    @Test(
        arguments: [
            "", "/mnt/a", "http://host/a", "file://host/a", "file:a", "file:///a%0", "file:///a%zz", "file:///a%00b",
            "file:///%FF%FE",
            "file:", "file://", "file:///" + String(repeating: "a", count: 1_000_000),
        ]) func otherURLsHaveNoPath(_ url: String)
    {
        #expect(FileURL.path(url) == nil)
    }

    @Test func aPathIsComparedByItsComponents() {
        func below(_ path: String, _ folder: String = "/mnt/p") -> [String]? {
            FileURL.components(path, below: folder)
        }
        #expect(below("/mnt/p/Show/a.mp3") == ["Show", "a.mp3"])
        #expect(below("//mnt/./p//Show/a.mp3") == ["Show", "a.mp3"])
        #expect(below("/mnt/p") == nil)
        #expect(below("/mnt/pp/Show") == nil)
        #expect(below("/home/other/mnt/p/Show") == nil)
        #expect(below("/mnt/p/../../etc/passwd") == ["..", "..", "etc", "passwd"], "the mount finds no such entry")
    }
}
