extension SanitizedHTML {
    /// Returns sanitized markup with all headings at one level, so that they fit below the headings of the page.
    ///
    /// A `<` in sanitized markup always begins a tag: `SanitizedHTML` escapes it everywhere else.
    static func headings(_ markup: String, level: Int) -> String {
        guard markup.utf8.contains(UInt8(ascii: "h")) else { return markup }
        var result: [UInt8] = []
        var state = 0
        for byte in markup.utf8 {
            switch (state, byte) {
            case (_, UInt8(ascii: "<")): state = 1
            case (1, UInt8(ascii: "/")): break
            case (1, UInt8(ascii: "h")): state = 2
            case (2, UInt8(ascii: "1")...UInt8(ascii: "6")):
                state = 0
                result.append(UInt8(ascii: "0") + UInt8(level))
                continue
            default: state = 0
            }
            result.append(byte)
        }
        return String(decoding: result, as: UTF8.self)
    }
}
