import ArgumentParser

/// The option `--quiet` of commands that report what they did.
struct Reporting: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Print only errors.")
    var quiet = false

    /// Prints a line, unless `--quiet` is given.
    func print(_ text: String) {
        if !quiet { Terminal.print(text) }
    }
}

/// Phrases of reports.
enum ReportText {
    /// Returns a number with its noun: `1 episode`, `12 episodes`.
    static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
