import Foundation
import Glibc
import PodcastPages

/// Standard output and standard error.
enum Terminal {
    static func print(_ text: String) { write(text + "\n", to: 1) }

    /// Without a line feed.
    static func put(_ text: String) { write(text, to: 1) }

    static func error(_ text: String) {
        let lines = text.split(separator: "\n").joined(separator: "; ")
        write("podfs: \(PlainText.oneLine(lines))\n", to: 2)
    }

    static var isInteractive: Bool { isatty(1) == 1 }

    static func write(_ text: String, to descriptor: Int32) { write(Array(text.utf8), to: descriptor) }

    /// Past a reader that has gone (EPIPE) there is nobody to tell.
    static func write(_ bytes: [UInt8], to descriptor: Int32) {
        bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0 {
                    if errno == EINTR { continue }
                    return
                }
                rest = rest.dropFirst(count)
            }
        }
    }
}
