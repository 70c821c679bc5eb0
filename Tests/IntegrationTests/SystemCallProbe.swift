import Foundation
import TestSupport
import Testing

/// System calls on paths in a mount, made by a Python program and written as Python expressions.
///
/// An expression can use these names: `p` for the path on which the call is made; each name in `paths` for its path;
/// and the globals of the program below, which are the imported modules, the functions `opened`, `use`, `mapped`,
/// `bound` and `raw`, and the constant `HERE`. A call succeeds if it returns None or a true value.
struct SystemCallProbe {
    struct Call: Sendable {
        let expression: String
        /// The names of the paths on which the call is made, in order.
        let paths: [String]

        init(_ expression: String, on paths: [String]) {
            self.expression = expression
            self.paths = paths
        }
    }

    /// The paths by the names used in expressions.
    let paths: [String: String]

    static let isPossible = InstalledProgram.exists("python3")

    private static let program = #"""
        import ctypes, errno, fcntl, json, mmap, os, socket, stat, struct, sys
        libc = ctypes.CDLL(None, use_errno=True)
        def raw(name, *arguments):
            """Calls a function of the C library that Python does not have."""
            arguments = [a.encode() if isinstance(a, str) else a for a in arguments]
            if getattr(libc, name)(*arguments) < 0: raise OSError(ctypes.get_errno(), name)
        def use(path, action, flags=os.O_RDONLY):
            """Returns the result of the action on a descriptor of the path."""
            descriptor = os.open(path, flags)
            try: return action(descriptor)
            finally: os.close(descriptor)
        def opened(path, flags):
            os.close(os.open(path, flags, 0o644))
        def mapped(descriptor, flags, protection):
            mmap.mmap(descriptor, 0, flags, protection).close()
        def bound(path):
            with socket.socket(socket.AF_UNIX) as s: s.bind(path)
        HERE = -100  # AT_FDCWD
        order = json.load(open(sys.argv[1]))
        answers = []
        for expression, path in order["calls"]:
            scope = dict(globals(), **order["paths"], p=order["paths"][path])
            try:
                value = eval(expression, scope)
                answer = "done" if value is None or value else repr(value)
            except OSError as error: answer = errno.errorcode.get(error.errno, str(error.errno))
            except Exception as error: answer = repr(error)
            answers.append(answer)
        print(json.dumps(answers))
        """#

    /// Returns the result of each call, and a text that names the call and its path. A result is `done`, the name of an
    /// errno, or the unexpected value or exception.
    func answers(to calls: [Call], in directory: TemporaryDirectory) async throws -> [(String, call: String)] {
        let single = calls.flatMap { call in call.paths.map { [call.expression, $0] } }
        let order = Order(paths: paths, calls: single)
        let file = try directory.write("calls.json", try JSONEncoder().encode(order))
        let result = try await ChildProcess.run("python3", ["-c", Self.program, file]).succeeded()
        let answers = try JSONDecoder().decode([String].self, from: Data(result.standardOutput))
        try #require(answers.count == single.count)
        return zip(answers, single).map { ($0, call: "\($1[0]) on \($1[1])") }
    }

    private struct Order: Encodable {
        var paths: [String: String]
        var calls: [[String]]
    }
}
