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

    /// SHA-256 of `sheet` and `script`, in the format of a policy (CSP Level 3, 2.3.1).
    static let sheetHash = "sha256-gN/V+oop3Dtjzok3yOEVmO9lRQ0q1OSP5hAJxQtc298="
    static let scriptHash = "sha256-9sYyTxA8sGZmFuyOFfiX9copa95R8WnZeeZG7C4Obe8="
}
