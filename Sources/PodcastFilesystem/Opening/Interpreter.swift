/// A script interpreter such as python3. If a process runs one, the program is identified by the name of the script,
/// not by the name of the interpreter.
///
/// Shells are not included, because their scripts read files by starting other programs, which have names of their own.
struct Interpreter {
    /// The options that matter when a command line is searched for the script. Every other option is a word without a
    /// value.
    private struct Options {
        /// Short options with a value, by their letters. The value is the rest of the word, or the next word if the
        /// rest is empty.
        var values: Set<Character> = []
        /// Short options that are followed by the program's text. A command line with one of them names no script.
        var texts: Set<Character> = []
        /// Short options with an optional value, which is the rest of the word.
        var rests: Set<Character> = []
        /// The short option that is followed by the name of a module to run.
        var module: Character?
        /// Long options whose value is the next word.
        var longValues: Set<String> = []
        /// Subcommands before the script, such as `run`.
        var commands: Set<String> = []
    }

    private let options: Options

    /// - Parameter program: A base name, with or without a version: `python3.11`, `perl5.36-x86_64-linux-gnu`, `node`.
    init?(program: String) {
        let letters = program.prefix { $0.isLetter }
        let rest = program[letters.endIndex...].first
        guard let options = Self.options[String(letters)], rest == nil || rest?.isNumber == true || rest == "-" else {
            return nil
        }
        self.options = options
    }

    /// The options of each interpreter, by its name without the version. The sources are python(1), perlrun(1),
    /// ruby(1), lua(1), php(1), guile(1) and the `--help` of node, bun and deno.
    private static let options: [String: Options] = {
        let python = Options(
            values: ["W", "X"], texts: ["c"], module: "m", longValues: ["--check-hash-based-pycs", "--jit"])
        let lua = Options(values: ["e", "l", "j"], rests: ["O"])
        let node = Options(
            values: ["r", "C"], texts: ["e", "p"],
            longValues: ["--require", "--import", "--loader", "--experimental-loader", "--conditions"])
        return [
            "python": python, "pypy": python, "lua": lua, "luajit": lua, "node": node, "nodejs": node,
            "bun": Options(
                values: ["r", "c", "d", "l"], texts: ["e", "p"],
                longValues: ["--preload", "--require", "--import", "--config", "--cwd", "--define", "--loader"],
                commands: ["run"]),
            "deno": Options(
                values: ["c", "L"], longValues: ["--config", "--import-map", "--log-level"], commands: ["run"]),
            "guile": Options(values: ["e", "l", "L", "C", "x"], texts: ["c"]),
            "perl": Options(
                values: ["I"], texts: ["e", "E"], rests: ["C", "D", "F", "i", "m", "M", "V", "x", ":"]),
            // `-f` and `-F` are not listed, since the word after them is the script.
            "php": Options(values: ["c", "d", "S", "t", "z"], texts: ["r", "B", "R", "E"]),
            "ruby": Options(
                values: ["C", "E", "I", "r", "X"], texts: ["e"], rests: ["F", "i", "K", "T", "W", "x"],
                longValues: ["--encoding", "--external-encoding", "--internal-encoding", "--enable", "--disable"]),
        ]
    }()
    /// Long options that precede the program's text.
    private static let longTexts: Set<String> = ["--eval", "--print"]

    /// Returns the base name of the script in a command line of NUL-terminated words; `nil` if there is none.
    func script(commandLine: [UInt8]) -> String? {
        var words = commandLine.split(separator: 0, omittingEmptySubsequences: false).dropFirst().map {
            String(decoding: $0, as: UTF8.self)
        }[...]
        while let word = words.popFirst() {
            if word.isEmpty || word == "--" || options.commands.contains(word) { continue }
            guard word.hasPrefix("-"), word != "-" else {
                let script = CallingProgram.baseName(word)
                return script.isEmpty || word == "-" ? nil : script
            }
            switch meaning(of: word) {
            case .flag: break
            case .value: _ = words.popFirst()
            case .text: return nil
            case .module(let name):
                let module = name.isEmpty ? words.first ?? "" : name
                return module.split(separator: ".").first.map(String.init)
            }
        }
        return nil
    }

    private enum Meaning {
        /// An option without a value, or a word that contains the option's value.
        case flag
        /// An option whose value is the next word.
        case value
        /// An option with the program's text, in the same word or the next.
        case text
        /// An option with the name of a module; empty if the name is the next word.
        case module(String)
    }

    /// Returns the meaning of a word that may combine several short options, such as perl's `-lne`.
    private func meaning(of word: String) -> Meaning {
        if word.hasPrefix("--") {
            // `--eval=CODE` has the text in the same word.
            let name = String(word.prefix { $0 != "=" })
            return Self.longTexts.contains(name) ? .text : options.longValues.contains(word) ? .value : .flag
        }
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
            if letter == "=" || options.rests.contains(letter) { return .flag }
            if options.values.contains(letter) { return letters.isEmpty ? .value : .flag }
            if options.texts.contains(letter) { return .text }
            if letter == options.module { return .module(String(letters)) }
        }
        return .flag
    }
}
