import Glibc

/// What a thread keeps from one request to the next: the id of the request it handles, and memory for an answer.
///
/// Answers are made in memory that stays with the thread because allocating a large block for each grows the process:
/// malloc keeps an arena for each thread, and 128 KiB blocks from several threads leave them full of holes.
/// The memory is freed when the thread ends. The corresponding C functions are `pthread_setspecific` and its kin.
struct ThreadMemory {
    /// `unique` of the request's header, set by the session's loop; other threads do not use it.
    var requestID: UInt64 = 0
    private var block = UnsafeMutableRawBufferPointer(start: nil, count: 0)

    /// The calling thread's own. Not to be kept beyond the call, nor given to another thread.
    static var current: UnsafeMutablePointer<ThreadMemory> {
        if let pointer = pthread_getspecific(key) { return pointer.assumingMemoryBound(to: ThreadMemory.self) }
        let pointer = UnsafeMutablePointer<ThreadMemory>.allocate(capacity: 1)
        pointer.initialize(to: ThreadMemory())
        pthread_setspecific(key, pointer)
        return pointer
    }

    /// At least `size` bytes of undefined content, the same ones in every call as long as they suffice.
    mutating func take(size: Int) -> UnsafeMutableRawBufferPointer {
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
        precondition(code == 0, "no key for thread-specific memory: \(describe(code))")
        return key
    }()
}
