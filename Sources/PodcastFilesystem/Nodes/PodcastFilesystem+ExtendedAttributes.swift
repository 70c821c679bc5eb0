internal import Foundation
package import Fuse
internal import Glibc
internal import PodcastLibrary
internal import PodcastProtocol
internal import SystemPackage

// Extended attributes: facts of an episode or a show, and the control of tasks.
extension PodcastFilesystem {
    package func getxattr(_ request: consuming Request, node: NodeID, name: String, capacity: Int) {
        do {
            guard let number = NodeNumber(node) else { throw Errno.staleNFSFileHandle }
            if number == .root, name == Self.processAttribute {
                return request.reply(value: "\(getpid())", capacity: capacity)
            }
            if number == .root, name == Self.libraryAttribute {
                return request.reply(value: library.path, capacity: capacity)
            }
            // `ls -l` and the kernel request access control lists, security labels and capabilities. With this error,
            // ls(1) remembers that the filesystem supports none; otherwise it would request them for every file.
            guard name.hasPrefix("user.") else { throw Errno.notSupported }
            let values = try behaviour(of: number).extendedAttributes()
            guard let value = values.first(where: { $0.0 == name })?.1 else { throw Errno.noData }
            request.reply(value: value, capacity: capacity)
        } catch {
            request.reply(error: Self.errno(of: error))
        }
    }

    package func listxattr(_ request: consuming Request, node: NodeID, capacity: Int) {
        do {
            guard let number = NodeNumber(node) else { throw Errno.staleNFSFileHandle }
            let values = try behaviour(of: number).extendedAttributes()
            request.reply(attributeNames: values.map(\.0), capacity: capacity)
        } catch {
            request.reply(error: Self.errno(of: error))
        }
    }

    /// An unlisted attribute of the root: the id of the process that serves the mount, for `podfs unmount`.
    package static let processAttribute = "user.podfs.mount.pid"
    /// An unlisted attribute of the root: the path of the library that the mount shows.
    package static let libraryAttribute = "user.podfs.mount.library"

    package func setxattr(
        _ request: consuming Request, node: NodeID, name: String, value: UnsafeRawBufferPointer, flags: Int32
    ) {
        // A value from `echo` or a shell may end with a line feed.
        let text = String(decoding: value, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        do {
            guard let attribute = ControlAttribute(rawValue: name) else { throw Errno.readOnlyFileSystem }
            guard mayControl(request.caller.uid) else { throw Errno.notPermitted }
            guard let number = NodeNumber(node),
                let command = try behaviour(of: number).command(setting: attribute, to: text)
            else { throw Errno.invalidArgument }
            let waiting = ParkedRequest(request)
            send(.command, WireJSON.encode(command), for: waiting) { result in
                waiting.answerError {
                    try Self.check(result.reply(), to: command)
                    waiting.take()?.replyDone()
                }
            }
        } catch {
            request.reply(error: Self.errno(of: error))
        }
    }

    /// Throws an error for an action with problems and no success, and for a refresh without a success.
    private static func check(_ reply: Reply, to command: Command) throws {
        switch reply {
        case .acted(count: 0, let problems) where !problems.isEmpty: throw Errno.resourceBusy
        // A refresh of all shows succeeds if there are no shows.
        case .refreshed([]) where command == .refresh(podcasts: []): break
        case .refreshed(let results) where results.allSatisfy({ $0.error != nil }): throw Errno.ioError
        default: break
        }
    }
}

/// An attribute that controls tasks or stores what was listened to. Only the owner of the files and the user as whom
/// the mount's process runs may set it (`mayControl`).
enum ControlAttribute: String {
    case task = "user.podfs.task"
    case played = "user.podfs.played"
    case position = "user.podfs.position"

    /// Returns the action for a value of `task`; `nil` for `refresh`, `download` and unknown values.
    static func action(_ value: String) -> TaskAction? {
        TaskAction(rawValue: value).flatMap { $0 == .download ? nil : $0 }
    }
}
