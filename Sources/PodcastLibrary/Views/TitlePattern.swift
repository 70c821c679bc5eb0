internal import CPCRE2

/// A Perl-compatible regular expression that is searched for in titles, ignoring case. Pure.
package struct TitlePattern: Sendable, Equatable {
    /// The expression as the user wrote it.
    package let text: String
    private let program: Program

    /// The maximum number of steps for one title, which take some milliseconds. Expressions such as `(a+)+$` would
    /// otherwise need a time that grows exponentially with the length of the title.
    private static let stepLimit: UInt32 = 100_000

    /// The compiled expression.
    private final class Program: Sendable {
        // Never changed after `pcre2_compile`, so that any number of threads may use it: see pcre2api(3).
        nonisolated(unsafe) let code: OpaquePointer

        init(_ code: OpaquePointer) { self.code = code }

        deinit { pcre2_code_free_8(code) }
    }

    /// Compiles an expression.
    ///
    /// - Throws: `SettingError` with the reason why the text is not a valid expression.
    package init(_ text: String) throws(SettingError) {
        self.text = text
        let pattern = FileName.normalized(text)
        var error: CInt = 0
        var offset = 0
        let code = pcre2_compile_8(
            pattern, pattern.utf8.count, PCRE2_CASELESS | PCRE2_UTF | PCRE2_UCP, &error, &offset, nil)
        guard let code else {
            let reason = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 256) { buffer in
                pcre2_get_error_message_8(error, buffer.baseAddress, buffer.count) < 0
                    ? "error \(error)" : String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
            }
            throw SettingError(message: "\(reason) at offset \(offset)")
        }
        program = Program(code)
    }

    package static func == (one: Self, other: Self) -> Bool { one.text == other.text }

    /// Whether the expression matches a part of the title. `false` if the search takes more than `stepLimit` steps.
    package func matches(_ title: String) -> Bool {
        let title = FileName.normalized(title)
        let context = pcre2_match_context_create_8(nil)
        defer { pcre2_match_context_free_8(context) }
        pcre2_set_match_limit_8(context, Self.stepLimit)
        let match = pcre2_match_data_create_8(1, nil)
        defer { pcre2_match_data_free_8(match) }
        return pcre2_match_8(
            program.code, title, title.utf8.count, 0, PCRE2_NO_UTF_CHECK, match, context) >= 0
    }
}
