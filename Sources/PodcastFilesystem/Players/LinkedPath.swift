internal import Platform

/// A resolver of paths that lead to a mounted folder through symbolic links.
///
/// A player may have opened a file by such a path, for example if `~/Podcasts` links to `/mnt/podcasts`. The links are
/// read one by one, and only in local file systems: the mount table is searched before each system call, so that no
/// network file system, automounter or other FUSE process is asked.
package struct LinkedPath {
    /// The types of local file systems, whose links may be read.
    private static let local: Set<String> = [
        "bcachefs", "btrfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "jfs", "ntfs3", "overlay", "ramfs",
        "reiserfs", "rootfs", "squashfs", "tmpfs", "vfat", "xfs", "zfs",
    ]
    /// The maximum number of links in a path, as in the kernel (path_resolution(7)).
    private static let maxLinks = 40

    /// The file system types by the bytes of the mount point: Swift regards the composed and the decomposed form of a
    /// character as equal, but they name different folders.
    private let mounts: [[UInt8]: String]
    /// Returns the target of the symbolic link at a path; `nil` if there is no link or it cannot be read.
    private let readLink: (String) -> String?

    /// - Parameter mountInfo: The content of `/proc/self/mountinfo`.
    package init(mountInfo: String, readLink: @escaping (String) -> String?) {
        var mounts: [[UInt8]: String] = [:]
        // A later mount at the same point hides the earlier one.
        for mount in MountEntry.all(in: mountInfo) { mounts[mount.bytes] = mount.type }
        self.mounts = mounts
        self.readLink = readLink
    }

    /// Returns the components of `path` below `folder`; `nil` if the path does not lead to `folder`, leads
    /// through a file system that is not local or through more than `maxLinks` links, or contains `..` below `folder`.
    package func components(of path: String, below folder: String) -> [String]? {
        guard mounts[Array("/".utf8)].map(Self.local.contains) ?? false, path.utf8.first == UInt8(ascii: "/") else {
            return nil
        }
        var rest = Self.parts(path)
        var done: [Substring] = []
        var links = 0
        while let part = rest.popFirst() {
            if part == ".." {
                _ = done.popLast()
                continue
            }
            done.append(part)
            let resolved = "/" + done.joined(separator: "/")
            if resolved.utf8.elementsEqual(folder.utf8) { return rest.contains("..") ? nil : rest.map(String.init) }
            if let type = mounts[Array(resolved.utf8)] {
                guard Self.local.contains(type) else { return nil }
                continue
            }
            guard let target = readLink(resolved) else { continue }
            links += 1
            guard links <= Self.maxLinks else { return nil }
            if target.utf8.first == UInt8(ascii: "/") { done = [] } else { _ = done.popLast() }
            rest = Self.parts(target) + rest
        }
        return nil
    }

    private static func parts(_ path: String) -> ArraySlice<Substring> {
        path.split(separator: "/").filter { $0 != "." }[...]
    }
}
