internal import CSystemd
internal import Glibc
internal import PodcastProtocol

/// Returns a type code of sd-bus; for its letter, see sd_bus_message_append(3).
func busType(_ letter: Unicode.Scalar) -> CChar { CChar(truncatingIfNeeded: letter.value) }

/// A reader of a D-Bus message's values that limits the length of strings. Confined to one thread, as sd-bus requires.
struct MessageReader {
    /// An `sd_bus_message`.
    let message: OpaquePointer?

    /// Reads a string. Returns an empty string if it is longer than `limit` bytes, and `nil` if the next value of
    /// the message is not of the type `code`.
    func text(_ code: CChar = busType("s"), limit: Int) -> String? {
        // A pointer into the message.
        var text: UnsafePointer<CChar>?
        guard sd_bus_message_read_basic(message, code, &text) > 0, let text else { return nil }
        return strnlen(text, limit + 1) > limit ? "" : String(cString: text)
    }

    /// Reads a dictionary of type `a{sv}`. Calls `value` with each key; a key longer than 64 bytes becomes an empty
    /// string. `value` reads the key's variant, or returns `false` to have the variant skipped.
    /// Ends early if the message is not of this form.
    func dictionary(_ value: (String) -> Bool) {
        guard sd_bus_message_enter_container(message, busType("a"), "{sv}") >= 0 else { return }
        while sd_bus_message_enter_container(message, busType("e"), "sv") > 0, let key = text(limit: 64) {
            if !value(key), sd_bus_message_skip(message, "v") < 0 { return }
            guard sd_bus_message_exit_container(message) >= 0 else { return }
        }
        sd_bus_message_exit_container(message)
    }

    /// Reads a number of the type `code`; `zero` has the type's size.
    func number<Number: BitwiseCopyable>(_ code: CChar, _ zero: Number) -> Number? {
        var value = zero
        return sd_bus_message_read_basic(message, code, &value) > 0 ? value : nil
    }

    /// Reads the content of a variant if its type code is one of `types`; otherwise returns `nil` and reads nothing.
    private func variant<Value>(_ types: String, _ read: (CChar) -> Value?) -> Value? {
        var contents: UnsafePointer<CChar>?
        guard sd_bus_message_peek_type(message, nil, &contents) > 0, let contents, contents[1] == 0,
            types.utf8.contains(UInt8(bitPattern: contents[0]))
        else { return nil }
        let type = contents[0]
        guard sd_bus_message_enter_container(message, busType("v"), contents) > 0 else { return nil }
        let value = read(type)
        return sd_bus_message_exit_container(message) >= 0 ? value : nil
    }

    func textVariant(limit: Int) -> String? { variant("so") { text($0, limit: limit) } }

    func flagVariant() -> Bool? { variant("b") { number($0, Int32(0)).map { $0 != 0 } } }

    /// Reads a double, or an integer of 32 or 64 bits, since players use different types for the same value.
    func numberVariant() -> Double? {
        variant("dxtiu") { code in
            switch code {
            case busType("d"): number(code, Double(0))
            case busType("x"): number(code, Int64(0)).map(Double.init)
            case busType("t"): number(code, UInt64(0)).map(Double.init)
            case busType("i"): number(code, Int32(0)).map(Double.init)
            default: number(code, UInt32(0)).map(Double.init)
            }
        }
    }

    // MARK: Players

    private static let microseconds: Double = 1_000_000

    /// Reads the properties of a player.
    func properties() -> PlayerProperties {
        var properties = PlayerProperties()
        dictionary { key in
            switch key {
            case "PlaybackStatus":
                Self.set(textVariant(limit: 16)) { properties.status = PlayerStatus(rawValue: $0) }
            case "Rate": Self.set(numberVariant()) { properties.rate = $0 }
            case "Position": Self.set(numberVariant()) { properties.position = $0 / Self.microseconds }
            case "CanSeek": Self.set(flagVariant()) { properties.canSeek = $0 }
            case "Metadata": Self.set(track()) { properties.track = $0 }
            default: false
            }
        }
        return properties
    }

    /// Returns whether there is a value, which is then passed to `set`.
    private static func set<Value>(_ value: Value?, _ set: (Value) -> Void) -> Bool { value.map(set) != nil }

    private func track() -> PlayerTrack? {
        guard sd_bus_message_enter_container(message, busType("v"), "a{sv}") > 0 else { return nil }
        var track = PlayerTrack()
        dictionary { key in
            switch key {
            case "xesam:url": Self.set(textVariant(limit: FileURL.longest)) { track.url = $0.isEmpty ? nil : $0 }
            case "mpris:trackid": Self.set(textVariant(limit: 1_024)) { track.id = $0.isEmpty ? nil : $0 }
            case "mpris:length": Self.set(numberVariant()) { track.length = $0 > 0 ? $0 / Self.microseconds : nil }
            default: false
            }
        }
        return sd_bus_message_exit_container(message) >= 0 ? track : nil
    }
}
