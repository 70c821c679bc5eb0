/// Recognises a page that a server sent under a media type: a login form, a captive portal, an error page.
enum MarkupSniffer {
    /// What a body that begins so is, if it is no media. No media format begins with one of these.
    ///
    /// - Parameter bytes: the beginning of the body; leading white space and a byte order mark are passed over, as in
    ///   the WHATWG's MIME sniffing, from which the two beginnings of HTML are taken.
    static func kind(of bytes: UnsafeRawBufferPointer) -> String? {
        var start = bytes.prefix(512)[...]
        if start.starts(with: [0xEF, 0xBB, 0xBF]) { start = start.dropFirst(3) }
        start = start.drop { [0x09, 0x0A, 0x0C, 0x0D, 0x20].contains($0) }
        guard start.first == UInt8(ascii: "<") else { return nil }
        let text = start.prefix(14).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        return ["<!doctype html", "<html", "<head"].contains { text.starts(with: $0.utf8) } ? "HTML" : nil
    }
}
