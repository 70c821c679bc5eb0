internal import Platform

/// The subscriptions of an OPML document, in its order, each URL once.
struct OutlineList {
    private(set) var subscriptions: [OPML.Subscription] = []
    /// The diagnostics of subscriptions without a usable URL.
    var unusable: [Diagnostic] = []
    /// The indices of the subscriptions by URL.
    private var indices: [String: Int] = [:]
    /// The open folders, outermost first, with the depth of each folder's element.
    var folders: [(depth: Int, name: String)] = []

    /// The maximum nesting depth of folders, and the maximum number of folders of one feed.
    static let maxFolders = 32

    /// Adds a subscription with the open folders. If the list already contains a subscription with the same URL, only
    /// adds the folders to that one.
    mutating func insert(_ subscription: OPML.Subscription) {
        let names = folders.map(\.name)
        guard let index = indices[subscription.url] else {
            indices[subscription.url] = subscriptions.count
            var subscription = subscription
            subscription.folders = names
            return subscriptions.append(subscription)
        }
        for name in names where subscriptions[index].folders.count < Self.maxFolders {
            if !subscriptions[index].folders.contains(name) { subscriptions[index].folders.append(name) }
        }
    }
}

extension FeedReader {
    /// Processes an `outline`: a subscription if it has the URL of a feed, otherwise a folder.
    mutating func startOutline(_ attributes: FeedAttributes) {
        guard stack.kind == .subscriptions else { return }
        let line = diagnosticLog.lines.current()
        // An element of this depth ends the folders that cannot contain it.
        let depth = stack.count
        outlines.folders.removeAll { $0.depth >= depth }
        let type = attributes.value("type").flatMap { FeedValues.string($0)?.lowercased() }
        let isFeed = type == "rss" || type == "atom"
        let written = attributes.value("xmlUrl")
        // Some programs write the feed's URL as `url`, which is meant for a link to another list (`type="include"`) or
        // to a page.
        let candidates = [written, isFeed ? attributes.value("url") : nil]
        let title = title(attributes)
        guard let reference = candidates.compactMap({ $0.flatMap(FeedValues.string) }).first else {
            if isFeed || written != nil {
                skipUnusable("\(Self.name(title)) has no address and is ignored", line)
            } else if let title, outlines.folders.count < OutlineList.maxFolders {
                outlines.folders.append((depth, title))
            }
            return
        }
        // Overcast also lists shows that the user has played but not subscribed to.
        if attributes.flag("subscribed") == false {
            return diagnose("\(Self.name(title)) is marked as not subscribed and is ignored", line: line)
        }
        let address = URLReference.resolve(reference, base: nil)
        guard address.utf8.count <= limits.url else {
            return skipUnusable(
                "the address of \(Self.name(title)) is longer than \(limits.url) bytes and is ignored", line)
        }
        guard WebAddress.isValid(address) else {
            return skipUnusable("the address of \(Self.name(title)) \(Self.fault(of: address))", line)
        }
        guard outlines.subscriptions.count < limits.items else {
            return stop("there are more than \(limits.items) subscriptions; the rest is ignored")
        }
        let link = url(attributes.value("htmlUrl"))
        let name = title == self.title(ofAddress: address) ? nil : title
        let text = attributes.value("text").map { String(decoding: UTF8Cleaner.prefix($0, limits.line), as: UTF8.self) }
        outlines.insert(OPML.Subscription(url: address, title: name, text: text, link: link, line: line))
    }

    /// Reports a subscription without a usable URL.
    private mutating func skipUnusable(_ message: String, _ line: Int) {
        diagnose(message, line: line)
        if outlines.unusable.count < limits.items {
            outlines.unusable.append(Diagnostic(line: line, message: message))
        }
    }

    /// Returns the attribute `title`, or else `text`, in which gPodder writes the description.
    private func title(_ attributes: FeedAttributes) -> String? {
        attributes.value("title").flatMap { title($0) } ?? attributes.value("text").flatMap { title($0) }
    }

    /// Returns a URL normalized like a title, for comparison with the title, because some programs write the URL there.
    private func title(ofAddress address: String) -> String? {
        var address = address
        return address.withUTF8 { title($0) }
    }

    private func title(_ text: FeedBytes) -> String? {
        FeedValues.line(UTF8Cleaner.prefix(text, limits.line), replacingReferences: false)
    }

    /// Returns the reason why a feed cannot have this URL. The URL may contain a password, so the text omits it.
    private static func fault(of address: String) -> String {
        guard let scheme = URLReference.scheme(of: address).map({ String(Substring($0)).lowercased() }) else {
            return "is relative: it does not begin with “http:” or “https:”"
        }
        if let problem = WebAddress.problem(with: address), problem != .scheme { return problem.description }
        return "begins with “\(scheme.prefix(20)):”, not with “http:” or “https:”"
    }

    private static func name(_ title: String?) -> String {
        title.map { "the subscription “\(excerpt($0.utf8))”" } ?? "a subscription"
    }
}
