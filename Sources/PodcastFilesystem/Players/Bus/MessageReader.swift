internal import CSystemd
internal import Glibc
internal import PodcastProtocol

/// A reader of a D-Bus message's values that limits the length of strings. Confined to one thread, as sd-bus requires.
struct MessageReader {
    /// The type codes of sd-bus, see sd_bus_message_append(3) and sd-bus-protocol.h.
    enum Code {
        static let string = code("s")
        static let path = code("o")
        static let array = code("a")
        static let variant = code("v")
        static let entry = code("e")
        static let double = code("d")
        static let boolean = code("b")
        static let int64 = code("x")
        static let uint64 = code("t")
        static let int32 = code("i")
        static let uint32 = code("u")

        private static func code(_ character: Unicode.Scalar) -> CChar { CChar(truncatingIfNeeded: character.value) }
    }

    /// An `sd_bus_message`.
    let message: OpaquePointer?

    /// Reads a string. Returns an empty string if it is longer than `limit` bytes, and `nil` if the next value of
    /// the message is not of the type `code`.
    func text(_ code: CChar = Code.string, limit: Int) -> String? {
        // A pointer into the message.
        var text: UnsafePointer<CChar>?
        guard sd_bus_message_read_basic(message, code, &text) > 0, let text else { return nil }
        return strnlen(text, limit + 1) > limit ? "" : String(cString: text)
    }

    /// Reads a dictionary of type `a{sv}`. Calls `value` with each key; a key longer than 64 bytes becomes an empty
    /// string. `value` reads the key's variant, or returns `false` to have the variant skipped.
    ///
    /// - Returns: `false` if the message is not of this form.
    func dictionary(_ value: (String) -> Bool) -> Bool {
        guard sd_bus_message_enter_container(message, Code.array, "{sv}") >= 0 else { return false }
        while true {
            let entered = sd_bus_message_enter_container(message, Code.entry, "sv")
            if entered == 0 { break }
            guard entered > 0, let key = text(limit: 64) else { return false }
            if !value(key), sd_bus_message_skip(message, "v") < 0 { return false }
            guard sd_bus_message_exit_container(message) >= 0 else { return false }
        }
        return sd_bus_message_exit_container(message) >= 0
    }

    /// Reads the content of a variant if its type code is one of `types`; otherwise returns `nil` and reads nothing.
    private func variant<Value>(_ types: String, _ read: (CChar) -> Value?) -> Value? {
        var contents: UnsafePointer<CChar>?
        guard sd_bus_message_peek_type(message, nil, &contents) > 0, let contents, contents[1] == 0,
            types.utf8.contains(UInt8(bitPattern: contents[0]))
        else { return nil }
        let type = contents[0]
        guard sd_bus_message_enter_container(message, Code.variant, contents) > 0 else { return nil }
        let value = read(type)
        return sd_bus_message_exit_container(message) >= 0 ? value : nil
    }

    func textVariant(limit: Int) -> String? { variant("so") { text($0, limit: limit) } }

    func flagVariant() -> Bool? {
        variant("b") { code in
            var value: Int32 = 0
            return sd_bus_message_read_basic(message, code, &value) > 0 ? value != 0 : nil
        }
    }

    /// Reads a double, or an integer of 32 or 64 bits, since players use different types for the same value.
    func numberVariant() -> Double? {
        variant("dxtiu") { code in
            func read<Number: BitwiseCopyable>(_ zero: Number) -> Number? {
                var value = zero
                return sd_bus_message_read_basic(message, code, &value) > 0 ? value : nil
            }
            return switch code {
            case Code.double: read(Double(0))
            case Code.int64: read(Int64(0)).map(Double.init)
            case Code.uint64: read(UInt64(0)).map(Double.init)
            case Code.int32: read(Int32(0)).map(Double.init)
            default: read(UInt32(0)).map(Double.init)
            }
        }
    }

    // MARK: Players

    private static let microseconds: Double = 1_000_000

    /// Reads the properties of a player.
    func properties() -> PlayerProperties {
        var properties = PlayerProperties()
        _ = dictionary { key in
            switch key {
            case "PlaybackStatus":
                guard let text = textVariant(limit: 16) else { return false }
                properties.status = PlayerStatus(rawValue: text)
            case "Rate":
                guard let rate = numberVariant() else { return false }
                properties.rate = rate
            case "Position":
                guard let position = numberVariant() else { return false }
                properties.position = position / Self.microseconds
            case "CanSeek":
                guard let canSeek = flagVariant() else { return false }
                properties.canSeek = canSeek
            case "Metadata":
                guard sd_bus_message_enter_container(message, Code.variant, "a{sv}") > 0 else { return false }
                properties.track = track()
                return sd_bus_message_exit_container(message) >= 0
            default: return false
            }
            return true
        }
        return properties
    }

    private func track() -> PlayerTrack {
        var track = PlayerTrack()
        _ = dictionary { key in
            switch key {
            case "xesam:url":
                guard let url = textVariant(limit: FileURL.longest) else { return false }
                track.url = url.isEmpty ? nil : url
            case "mpris:trackid":
                guard let id = textVariant(limit: 1_024) else { return false }
                track.id = id.isEmpty ? nil : id
            case "mpris:length":
                guard let length = numberVariant() else { return false }
                track.length = length > 0 ? length / Self.microseconds : nil
            default: return false
            }
            return true
        }
        return track
    }
}
