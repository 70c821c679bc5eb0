import Testing

@testable import Platform

struct MountEntryTests {
    private let table = """
        22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,user_id=7x
        40 22 0:35 / /mnt/a\\040b\\134c rw,nosuid - fuse.podfs podfs rw,user_id=0
        41 22 0:36 / /mnt/other rw shared:2 master:1 - fuse podfs rw,user_id=1000,group_id=1000
        42 40 0:37 / /mnt/a\\040b\\134c rw,nosuid - fuse.podfs podfs rw,user_id=1000,group_id=5
        43 22 0:38 / /mnt/é rw - tmpfs none rw
        44 22 bad
        """

    @Test func theUppermostMountAtAPathIsFound() {
        let found = MountEntry.at("/mnt/a b\\c", in: table)
        #expect(found?.device == .init(major: 0, minor: 37) && found?.owner == 1_000 && found?.type == "fuse.podfs")
        let other = MountEntry.at("/mnt/other", in: table)
        #expect(other?.device == .init(major: 0, minor: 36) && other?.isFuse == true && other?.owner == 1_000)
        #expect(MountEntry.at("/", in: table)?.owner == nil && MountEntry.at("/mnt", in: table) == nil)
        #expect(MountEntry.at("/")?.isFuse == false)
    }

    /// The kernel compares bytes: two spellings of a letter are two folders.
    @Test func pathsAreComparedByBytes() {
        #expect(MountEntry.at("/mnt/\u{E9}", in: table)?.type == "tmpfs")
        #expect(MountEntry.at("/mnt/e\u{301}", in: table) == nil)
    }
}
