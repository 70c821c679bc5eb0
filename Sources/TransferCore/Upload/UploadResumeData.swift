/// How far an upload has come on its server: what a later run needs to go on with it.
package struct UploadResumeData: Sendable, Equatable {
    package enum Step: String, Sendable, Codable {
        /// The server has nothing of it.
        case unposted
        /// A POST is about to be sent, or was: what has become of it is not known.
        case posting
        /// The server has named the place of the media.
        case posted
    }

    package var step: Step
    /// Where the media go; there is one when `step` is `posted`, and at no other time.
    package var location: String?
    /// Whether that place speaks tus; `nil` until it was asked.
    package var speaksTus: Bool?
    /// Bytes that the server has said it holds. Only tus says so.
    package var offset: Int64

    package init(
        step: Step = .unposted, location: String? = nil, speaksTus: Bool? = nil, offset: Int64 = 0
    ) {
        self.step = step
        self.location = location
        self.speaksTus = speaksTus
        self.offset = offset
    }

    /// That of an upload whose place is known from the start: nothing is posted.
    package static func at(_ location: String) -> UploadResumeData {
        UploadResumeData(step: .posted, location: location)
    }
}
