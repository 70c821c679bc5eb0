/// The progress of an upload on its server, from which a later run continues.
package struct UploadResumeData: Sendable, Equatable {
    /// A step of an upload.
    package enum Step: String, Sendable, Codable {
        /// The server has received nothing.
        case unposted
        /// A POST is about to be sent, or was sent with an unknown outcome.
        case posting
        /// The server has given the URL of the media.
        case posted
    }

    package var step: Step
    /// The URL of the media; set if and only if `step` is `posted`.
    package var location: String?
    /// Whether that URL supports tus; `nil` if unknown.
    package var speaksTus: Bool?
    /// The number of bytes on the server, as reported over tus; 0 without tus.
    package var offset: Int64

    package init(
        step: Step = .unposted, location: String? = nil, speaksTus: Bool? = nil, offset: Int64 = 0
    ) {
        self.step = step
        self.location = location
        self.speaksTus = speaksTus
        self.offset = offset
    }

    /// Returns the data of an upload to a known URL, without a POST.
    package static func at(_ location: String) -> UploadResumeData {
        UploadResumeData(step: .posted, location: location)
    }
}
