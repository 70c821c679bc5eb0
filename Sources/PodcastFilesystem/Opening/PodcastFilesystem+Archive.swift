internal import Fuse
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import SystemPackage
internal import Transfers

/// The facts with which an episode's file in the archive is opened.
struct ArchivedOpening: Sendable {
    var number: NodeNumber
    var place: ArchivePlace
    /// The size in bytes.
    var size: Int64
    var expectation: CacheExpectation
    var flags: Int32
    var preference: HandleMode.Preference
}

// Files in the archive. Its disk may be dead, so all calls on its files run on the thread of `archive`, and requests of
// the kernel are parked meanwhile. Passthrough is an exception: there the kernel itself reads the file, on behalf of
// the calling program.
extension PodcastFilesystem {
    /// Opens a file in the archive. If that is not possible now, the daemon compares the file with the library. The
    /// kernel then looks the name up again, and finds either the same episode or, if the archive is offline, a new
    /// generation that is read from the server.
    func openArchived(_ opening: ArchivedOpening, _ request: consuming Request) {
        let waiting = ParkedRequest(request)
        answerInterrupt(of: waiting)
        openArchived(opening, for: waiting) { [self] file in
            pushAndOpen(waiting, file, opening.preference, size: opening.size)
        }
    }

    /// Opens a file in the archive, and passes it to `completion`. If it cannot be opened, answers the request with
    /// ESTALE after the daemon has examined the file.
    func openArchived(
        _ opening: ArchivedOpening, for waiting: ParkedRequest, completion: @escaping @Sendable (OpenFile) -> Void
    ) {
        let place = opening.place
        if place.isOffline { return examineArchived(opening, waiting) }
        archive.run {
            let path = FilePath(place.folder).appending(place.path)
            return try MediaReader(archived: path, expecting: opening.expectation, on: self.archive)
        } completion: { [self] result in
            guard case .success(let reader) = result else { return examineArchived(opening, waiting) }
            let media = OpenFile.Media(reader: reader, file: place.path, total: opening.size, isComplete: true)
            completion(OpenFile(number: opening.number, isCounted: false, flags: opening.flags, media: media))
        }
    }

    private func examineArchived(_ opening: ArchivedOpening, _ waiting: ParkedRequest) {
        let episode = opening.number.episode
        sendPart(.command, WireJSON.encode(Command.examineArchived(episode: episode)), for: waiting) { [self] result in
            invalidateName(ofEpisode: episode)
            waiting.answerError {
                _ = try result.reply()
                throw Errno.staleNFSFileHandle
            }
        }
    }

    /// Answers a read of a file in the archive.
    ///
    /// - Parameter answer: Replies on the archive's thread.
    func readArchived(_ request: consuming Request, answer: @escaping @Sendable (consuming Request) -> Void) {
        let waiting = ParkedRequest(request)
        answerInterrupt(of: waiting)
        archive.run {
            if let request = waiting.take() { answer(request) }
        } completion: { result in
            // The call has not returned, or an earlier one has not. The request may be part of it.
            if case .failure = result { waiting.take()?.reply(error: .timedOut) }
        }
    }
}
