import ArgumentParser
import Foundation
import PodcastProtocol

/// The error of a command: one line for people, an exit code for programs.
struct CommandError: Error, CustomStringConvertible {
    /// The exit codes, which are stable; see podfs(1).
    enum Code: Int32, CaseIterable {
        case failed = 1
        case partlyFailed = 2
        case usage = 64
        case unreachable = 69
        case refused = 77
    }

    var code: Code
    var description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    /// Converts any error to a line and an exit code.
    init(_ error: any Error) {
        switch error {
        case let error as CommandError: self = error
        case let error as Failure: self.init(Code(rawValue: Int32(error.kind.rawValue)) ?? .failed, error.message)
        case let error as ClientError: self.init(.unreachable, error.message)
        case let error as ConfigurationError: self.init(.failed, "\(error)")
        default: self.init(.failed, "\(error)")
        }
    }
}

extension ExitCode {
    /// Throws the exit code of a command that has reported its failures; does nothing if there are none.
    static func check(failures: Int, of total: Int) throws {
        guard failures > 0 else { return }
        throw ExitCode((failures < total ? CommandError.Code.partlyFailed : .failed).rawValue)
    }
}

/// A command of podfs. An error thrown by `perform` is printed on standard error as one line, and determines the exit
/// code. A command that throws `ExitCode` has reported its errors itself.
protocol PodfsCommand: AsyncParsableCommand {
    func perform() async throws
}

extension PodfsCommand {
    func run() async throws {
        do {
            try await perform()
            try Terminal.checkOutput()
        } catch let code as ExitCode {
            throw code
        } catch {
            let problem = CommandError(error)
            Terminal.error(problem.description)
            throw ExitCode(problem.code.rawValue)
        }
    }
}
