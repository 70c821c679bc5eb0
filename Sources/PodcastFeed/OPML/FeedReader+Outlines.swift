/// The subscriptions of an OPML document, in its order, each address once.
struct OutlineList {
    private(set) var subscriptions: [OPML.Subscription] = []
    private(set) var unusable: [Diagnostic] = []
    private var addresses: Set<String> = []

    /// Adds a subscription, unless the list already contains its address.
    mutating func insert(_ subscription: OPML.Subscription) {
        if addresses.insert(subscription.url).inserted { subscriptions.append(subscription) }
    }

    mutating func passOver(_ diagnostic: Diagnostic) { unusable.append(diagnostic) }
}

extension FeedReader {
    /// Processes an `outline`: a subscription if it has the address of a feed, otherwise a folder or a note.
    mutating func startOutline(_ attributes: FeedAttributes) {
        guard stack.kind == .subscriptions else { return }
        let line = notes.lines.current()
        let type = attributes.value("type").flatMap { FeedValues.string($0)?.lowercased() }
        let isFeed = type == "rss" || type == "atom"
        let written = attributes.value("xmlUrl")
        // Some programs write `url`, which is meant for a link to another list (`type="include"`) or a page.
        let candidates = [written, isFeed ? attributes.value("url") : nil]
        let title = title(attributes)
        guard let reference = candidates.compactMap({ $0.flatMap(FeedValues.string) }).first else {
            if isFeed || written != nil { passOver("\(Self.name(title)) has no address and is passed over", line) }
            return
        }
        // Overcast also lists shows that the user has played but not subscribed to.
        if attributes.value("subscribed").flatMap({ FeedValues.boolean($0.trimmed) }) == false {
            return note("\(Self.name(title)) is marked as not subscribed and is passed over", line: line)
        }
        let address = URLReference.resolve(reference, base: nil)
        guard address.utf8.count <= limits.url else {
            return passOver(
                "the address of \(Self.name(title)) is longer than \(limits.url) bytes and is left out", line)
        }
        guard URLReference.isHTTP(address) else {
            return passOver("the address of \(Self.name(title)) \(Self.fault(of: address))", line)
        }
        guard outlines.subscriptions.count < limits.items else {
            return stop("there are more than \(limits.items) subscriptions; the rest is left out")
        }
        let link = attributes.value("htmlUrl").flatMap { url($0) }
        let name = title == self.title(ofAddress: address) ? nil : title
        let text = attributes.value("text").map { String(decoding: UTF8Cleaner.prefix($0, limits.line), as: UTF8.self) }
        outlines.insert(OPML.Subscription(url: address, title: name, text: text, link: link, line: line))
    }

    private mutating func passOver(_ message: String, _ line: Int) {
        note(message, line: line)
        guard outlines.unusable.count < limits.items else { return }
        outlines.passOver(Diagnostic(line: line, message: message))
    }

    /// Returns the attribute `title`, otherwise `text`: gPodder writes the description to `text`.
    private func title(_ attributes: FeedAttributes) -> String? {
        attributes.value("title").flatMap { title($0) } ?? attributes.value("text").flatMap { title($0) }
    }

    /// Returns an address in the form of a title, to recognise programs that write the address into the title.
    private func title(ofAddress address: String) -> String? {
        var address = address
        return address.withUTF8 { title($0) }
    }

    private func title(_ text: FeedBytes) -> String? {
        FeedValues.line(UTF8Cleaner.prefix(text, limits.line), replacingReferences: false)
    }

    /// Returns the reason why an address is not that of a feed. The address itself may contain a password, so it is
    /// omitted.
    private static func fault(of address: String) -> String {
        guard let scheme = URLReference.scheme(of: address).map({ String(Substring($0)).lowercased() }) else {
            return "is relative: it does not begin with “http:” or “https:”"
        }
        if scheme == "http" || scheme == "https" { return "names no host" }
        return "begins with “\(scheme.prefix(20)):”, not with “http:” or “https:”"
    }

    private static func name(_ title: String?) -> String {
        title.map { "the subscription “\(excerpt($0.utf8))”" } ?? "a subscription"
    }
}
