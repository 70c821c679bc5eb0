extension Int64 {
    /// Parses decimal digits without a sign or spaces (HTTP's `1*DIGIT`); `nil` for other text and for overflow.
    init?(digits text: some StringProtocol) {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        self.init(text)
    }
}
