/// The reason why a document is not a list of subscriptions.
package enum OPMLError: Error, Equatable, CustomStringConvertible {
    /// No bytes, or nothing but white space.
    case empty
    /// A web page, with its title; `nil` if it has none.
    case html(title: String?)
    /// A feed, with its title; `nil` if it has none.
    case feed(title: String?)
    case json
    /// XML whose root element is not `opml`.
    case otherXML(root: String)
    /// Neither XML nor JSON. `beginning` is the start of the document.
    case notXML(beginning: String)
    /// XML that could not be parsed up to its root element.
    case unreadable(line: Int, message: String)
    /// A file of another format, as ``FileSignature`` names it: with an article, such as `an MP3 file`.
    case file(String)

    package var description: String {
        switch self {
        case .empty:
            return "the file is empty: export the subscriptions again"
        case .html(let title?):
            return "this is a web page (“\(title)”), not a list of subscriptions: download the OPML file itself"
        case .html(nil):
            return "this is a web page, not a list of subscriptions: download the OPML file itself"
        case .feed(let title?):
            return "this is a feed (“\(title)”), not a list of subscriptions: use “podfs subscribe” with its address"
        case .feed(nil):
            return "this is a feed, not a list of subscriptions: use “podfs subscribe” with its address"
        case .json:
            return "this is JSON, not a list of subscriptions: export them as OPML"
        case .otherXML(let root):
            return "this is XML, but not a list of subscriptions: its root element is <\(root)>, not <opml>"
        case .notXML(let beginning):
            return "this is not OPML: it begins with “\(beginning)”; export the subscriptions as OPML"
        case .file(let name):
            return "this is \(name), not a list of subscriptions: export them as OPML"
        case .unreadable(let line, let message):
            return "line \(line): the XML cannot be read (\(message)): export the subscriptions again"
        }
    }
}
