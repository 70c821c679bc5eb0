/// MIME types as servers and feeds state them.
package enum MIMEType {
    /// Returns the type and subtype, `audio/mpeg` for ` Audio/MPEG; charset=utf-8`; `nil` if nothing is left, or if the
    /// text is longer than RFC 6838 allows. Of several types, separated by commas, it returns the first.
    ///
    /// Inlinable, so that other modules compile it for their collections: each of a feed's items may have a type.
    @inlinable
    package static func essence(of text: some Collection<UInt8>) -> String? {
        var bare: [UInt8] = []
        for byte in text {
            if byte == UInt8(ascii: ";") || byte == UInt8(ascii: ",") { break }
            if byte <= 0x20 { continue }
            bare.append(UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte)
        }
        return bare.isEmpty || bare.count > 255 ? nil : String(decoding: bare, as: UTF8.self)
    }
}
