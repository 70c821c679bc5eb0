/// MIME types as servers and feeds state them.
package enum MIMEType {
    /// Returns the type and subtype, `audio/mpeg` for ` Audio/MPEG; charset=utf-8`; `nil` if nothing is left, or if the
    /// text is longer than RFC 6838 allows. Of several types, separated by commas, it returns the first.
    ///
    /// Inlinable, so that other modules compile it for their collections: each of a feed's items may have a type.
    @inlinable
    package static func essence(of text: some Collection<UInt8>) -> String? {
        let bare = text.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: ",") }.filter { $0 > 0x20 }
        return bare.isEmpty || bare.count > 255 ? nil : String(decoding: bare, as: UTF8.self).lowercased()
    }
}
