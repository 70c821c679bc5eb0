import Synchronization
import TestSupport
import Testing

@testable import PodcastService

struct WaitingReadersTests {
    @Test func workWaitsUntilTheLastReaderIsAnswered() async throws {
        let readers = WaitingReaders()
        readers.change(by: 2)
        let isQuiet = Mutex(false)
        let work = Task.detached {
            readers.waitUntilQuiet(atMost: .seconds(600))
            isQuiet.withLock { $0 = true }
        }
        readers.change(by: -1)
        #expect(!isQuiet.withLock { $0 })
        readers.change(by: -1)
        await work.value
        #expect(isQuiet.withLock { $0 })
    }

    @Test func workDoesNotWaitForEver() {
        let readers = WaitingReaders()
        readers.change(by: 1)
        readers.waitUntilQuiet(atMost: .milliseconds(20))
        // Without a reader it does not wait at all.
        WaitingReaders().waitUntilQuiet(atMost: .seconds(600))
    }
}
