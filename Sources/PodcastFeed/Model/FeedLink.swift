// The feeds that a web page names: `<link rel="alternate" type="application/rss+xml" title="…" href="…">`.
extension WebLink {
    /// The media types of feeds.
    private static let types: Set<String> = ["application/rss+xml", "application/atom+xml", "application/feed+json"]
    /// The maximum length of an address in bytes.
    private static let longest = 4_096

    /// Returns the feeds that a web page names, each once, in their order.
    ///
    /// - Parameter base: The address of the page.
    static func feeds(in page: [UInt8], base: String?) -> [WebLink] {
        var found: [WebLink] = []
        var tag = TagReader()
        // A page with more feeds is a directory.
        for case .tag("link", let source) in HTMLTokens(page) where found.count < 20 {
            source.withUnsafeBufferPointer { bytes in
                guard let start = bytes.baseAddress,
                    tag.read(from: start, to: start + bytes.count, isFinal: true) != nil
                else { return }
                tag.decodeValues()
                let relations = tag.list.value("rel").map { String(decoding: $0, as: UTF8.self).lowercased() } ?? ""
                guard relations.split(whereSeparator: \.isWhitespace).contains("alternate"),
                    let type = tag.list.type("type"), types.contains(type), let reference = tag.list.value("href")
                else { return }
                let url = URLReference.resolve(reference, base: base)
                guard url.hasPrefix("http://") || url.hasPrefix("https://"), url.utf8.count <= longest,
                    !found.contains(where: { $0.url == url })
                else { return }
                let title = tag.list.value("title").flatMap { FeedValues.line(UTF8Cleaner.prefix($0, longest)) }
                found.append(WebLink(url: url, title: title))
            }
        }
        return found
    }
}
