/// The subscriptions of an OPML document, in its order, each address once.
struct OutlineList {
    private(set) var subscriptions: [OPML.Subscription] = []
    private(set) var unusable: [Diagnostic] = []
    /// The positions of the subscriptions by address.
    private var places: [String: Int] = [:]
    /// The open folders, outermost first, with the depths of their elements.
    private var folders: [(depth: Int, name: String)] = []

    /// The maximum number of folders around a feed, and of folders that list it.
    private static let maxFolders = 32

    /// Adds a subscription to the open folders; one that the list already contains is listed in these folders too.
    mutating func insert(_ subscription: OPML.Subscription) {
        let names = folders.map(\.name)
        guard let place = places[subscription.url] else {
            places[subscription.url] = subscriptions.count
            var subscription = subscription
            subscription.folders = names
            return subscriptions.append(subscription)
        }
        for name in names where subscriptions[place].folders.count < Self.maxFolders {
            if !subscriptions[place].folders.contains(name) { subscriptions[place].folders.append(name) }
        }
    }

    /// Closes the folders that do not contain an element of this depth.
    mutating func leaveFolders(to depth: Int) { folders.removeAll { $0.depth >= depth } }

    mutating func enterFolder(_ name: String, depth: Int) {
        if folders.count < Self.maxFolders { folders.append((depth, name)) }
    }

    mutating func passOver(_ diagnostic: Diagnostic) { unusable.append(diagnostic) }
}

extension FeedReader {
    /// Processes an `outline`: a subscription if it has the address of a feed, otherwise a folder or a note.
    mutating func startOutline(_ attributes: FeedAttributes) {
        guard stack.kind == .subscriptions else { return }
        let line = diagnosticLog.lines.current()
        outlines.leaveFolders(to: stack.count)
        let type = attributes.value("type").flatMap { FeedValues.string($0)?.lowercased() }
        let isFeed = type == "rss" || type == "atom"
        let written = attributes.value("xmlUrl")
        // Some programs write `url`, which is meant for a link to another list (`type="include"`) or a page.
        let candidates = [written, isFeed ? attributes.value("url") : nil]
        let title = title(attributes)
        guard let reference = candidates.compactMap({ $0.flatMap(FeedValues.string) }).first else {
            if isFeed || written != nil {
                passOver("\(Self.name(title)) has no address and is ignored", line)
            } else if let title {
                outlines.enterFolder(title, depth: stack.count)
            }
            return
        }
        // Overcast also lists shows that the user has played but not subscribed to.
        if attributes.value("subscribed").flatMap({ FeedValues.boolean($0.trimmed) }) == false {
            return diagnose("\(Self.name(title)) is marked as not subscribed and is ignored", line: line)
        }
        let address = URLReference.resolve(reference, base: nil)
        guard address.utf8.count <= limits.url else {
            return passOver(
                "the address of \(Self.name(title)) is longer than \(limits.url) bytes and is ignored", line)
        }
        guard URLReference.isHTTP(address) else {
            return passOver("the address of \(Self.name(title)) \(Self.fault(of: address))", line)
        }
        guard outlines.subscriptions.count < limits.items else {
            return stop("there are more than \(limits.items) subscriptions; the rest is ignored")
        }
        let link = attributes.value("htmlUrl").flatMap { url($0) }
        let name = title == self.title(ofAddress: address) ? nil : title
        let text = attributes.value("text").map { String(decoding: UTF8Cleaner.prefix($0, limits.line), as: UTF8.self) }
        outlines.insert(OPML.Subscription(url: address, title: name, text: text, link: link, line: line))
    }

    private mutating func passOver(_ message: String, _ line: Int) {
        diagnose(message, line: line)
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
