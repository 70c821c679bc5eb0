internal import CCrypto
internal import Foundation

/// The common parts of all pages: style sheet, script and Content Security Policy.
enum PageStyle {
    /// The Content Security Policy of every page. A browser applies only `sheet` and `script`, loads images and media
    /// from files only, and sends nothing.
    ///
    /// In Chromium `'self'` matches files beside the page; browsers that treat every file as an origin of its own need
    /// `file:`. `base-uri` and `form-action` are set separately because `default-src` does not cover them (CSP Level 3,
    /// 6.3).
    static let policy =
        "default-src 'none'; img-src 'self' file:; media-src 'self' file:; style-src '\(sheetHash)'; "
        + "script-src '\(scriptHash)'; base-uri 'none'; form-action 'none'"

    /// The style sheet of all pages. It supports light and dark color schemes, and widths from 320 pixels.
    static let sheet = String(decoding: PackageResources.page_css, as: UTF8.self)
    /// The script of all pages. Each part first looks up the elements that it serves, and does nothing on a page
    /// without them. Every page is complete without the script, except for the rows of old episodes.
    ///
    /// - Art and media: after an error of an image, audio or video element, the script reloads it once. podfs
    ///   fetches a file only when it is first opened, and the browser may have read the file's size before that. An
    ///   image that fails again is removed, which reveals the initial of the show's title.
    /// - Lists of episodes: a chapter, or a time in the notes, plays when it is clicked; the current chapter is marked.
    ///   A player starts at the stored position, unless a chapter has been clicked. When one player starts, the others
    ///   are paused. A row beyond ``ShowPage/rowLimit`` is created when the button for older episodes, a search or an
    ///   address requests it. The player of an episode is created when its row is opened. The search field filters the
    ///   list. An address with `#e7` opens episode 7.
    /// - The shelf (the tiles of the shows): the search field filters the tiles, and lists episodes of all shows by
    ///   their titles. A menu sorts the tiles.
    /// - Covers that are about to be fetched: the page reloads itself after some seconds, later each time, but not if
    ///   it plays, is searched, or has selected text.
    /// - Transfers: the page reloads itself at an interval while it is visible and its check box is checked.
    /// - `/` moves the focus to the search field.
    static let script = String(decoding: PackageResources.page_js, as: UTF8.self)

    static let sheetHash = hash(sheet)
    static let scriptHash = hash(script)

    /// Returns the SHA-256 of a style sheet or script in the format of a policy (CSP Level 3, 2.3.1).
    private static func hash(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var digest = [UInt8](repeating: 0, count: 32)
        guard EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil) == 1 else { return "sha256-" }
        return "sha256-" + Data(digest).base64EncodedString()
    }
}
