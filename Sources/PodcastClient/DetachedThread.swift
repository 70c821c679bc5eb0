internal import Foundation

/// A thread that ends by itself.
enum DetachedThread {
    static func run(name: String, _ body: @escaping @Sendable () -> Void) {
        let thread = Thread(block: body)
        thread.name = name
        thread.start()
    }
}
