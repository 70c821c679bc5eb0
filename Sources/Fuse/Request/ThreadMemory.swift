import Glibc
internal import Platform

/// Memory that a thread reuses from one request to the next: the id of the current request, and a reply buffer.
///
/// Replies are built in memory owned by the thread, because the process would grow if each reply allocated a large
/// block: malloc has an arena for each thread, and 128 KiB blocks from several threads fragment the arenas. The memory
/// is freed when the thread exits (`pthread_setspecific`).
struct ThreadMemory {
    /// `unique` of the request's header, set by the session's loop; unused on other threads.
    var requestID: UInt64 = 0
    private var block = UnsafeMutableRawBufferPointer(start: nil, count: 0)

    /// The calling thread's memory. Must not be stored or passed to another thread.
    static var current: UnsafeMutablePointer<ThreadMemory> {
        if let pointer = pthread_getspecific(key) { return pointer.assumingMemoryBound(to: ThreadMemory.self) }
        let pointer = UnsafeMutablePointer<ThreadMemory>.allocate(capacity: 1)
        pointer.initialize(to: ThreadMemory())
        pthread_setspecific(key, pointer)
        return pointer
    }

    /// Returns `size` bytes of undefined content. Every call returns the start of the same block. A block that is too
    /// small is replaced, which invalidates the memory returned by earlier calls.
    mutating func block(size: Int) -> UnsafeMutableRawBufferPointer {
        if block.count < size {
            block.deallocate()
            // Whole pages, so that reads of slightly different sizes do not reallocate.
            block = .allocate(byteCount: (size + 4_095) / 4_096 * 4_096, alignment: 4_096)
        }
        return UnsafeMutableRawBufferPointer(rebasing: block[..<size])
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = pthread_key_create(&key) { argument in
            guard let argument else { return }
            let pointer = argument.assumingMemoryBound(to: ThreadMemory.self)
            pointer.pointee.block.deallocate()
            pointer.deinitialize(count: 1)
            pointer.deallocate()
        }
        precondition(code == 0, "no key for thread-specific memory: \(errnoText(code))")
        return key
    }()
}
