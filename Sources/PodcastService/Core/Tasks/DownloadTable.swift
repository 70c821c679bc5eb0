internal import Transfers

/// The downloads by episode, with counts over all of them.
///
/// The driver handles each batch of inputs on a copy of the core. The table is divided into small parts, so that a
/// change in the copy copies one part and not a queue of thousands.
struct DownloadTable: Sendable {
    private static let partCount = 128

    private var parts = [[MediaID: RegisteredDownload]](repeating: [:], count: partCount)
    private(set) var count = 0
    /// The number of downloads that are running or queued.
    private(set) var underWay = 0
    /// The number of downloads that are neither suspended nor failed.
    private(set) var proceeding = 0
    /// The number of automatic downloads that nobody has requested and that are running or queued.
    private(set) var discretionary = 0
    /// The number of bytes in the cache that are not recorded in the library yet.
    private(set) var unrecordedBytes: Int64 = 0

    var isEmpty: Bool { count == 0 }

    var values: some Sequence<RegisteredDownload> { parts.lazy.flatMap(\.values) }

    /// The download of a medium, if there is one.
    subscript(_ media: MediaID) -> RegisteredDownload? {
        get { parts[Self.part(of: media)][media] }
        set {
            let part = Self.part(of: media)
            if let old = parts[part].removeValue(forKey: media) { add(old, -1) }
            guard let newValue else { return }
            parts[part][media] = newValue
            add(newValue, 1)
        }
    }

    mutating func remove(_ media: MediaID) -> RegisteredDownload? {
        defer { self[media] = nil }
        return self[media]
    }

    private static func part(of media: MediaID) -> Int { Int(UInt64(bitPattern: media.rawValue) % UInt64(partCount)) }

    private mutating func add(_ task: RegisteredDownload, _ sign: Int) {
        count += sign
        if task.isUnderWay { underWay += sign }
        if task.canProceed { proceeding += sign }
        if task.isDiscretionary { discretionary += sign }
        unrecordedBytes += Int64(sign) * max(0, task.snapshot.received - task.recordedBytes)
    }
}
