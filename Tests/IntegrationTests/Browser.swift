import Foundation
import TestSupport
import Testing

/// Chromium without a window, driven by its WebDriver (https://www.w3.org/TR/webdriver2/).
///
/// When the last reference goes, both are ended: the driver's process group goes with the `timeout` that leads it, and
/// whatever becomes of the test, nothing of them outlives five minutes.
final class Browser: Sendable {
    /// The two programs of Debian's `chromium` and `chromium-driver`.
    static let isInstalled = ["chromium", "chromedriver"].allSatisfy { name in
        FileManager.default.isExecutableFile(atPath: "/usr/bin/\(name)")
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let directory: TemporaryDirectory
    private let driver: ChildProcess
    private let address: String
    private let session: String

    init() async throws {
        directory = try TemporaryDirectory()
        let directory = directory
        // What a desktop has, and what it keeps of it, is not the test's.
        var environment = ["HOME": directory.path, "XDG_RUNTIME_DIR": directory.path, "LANG": "C.UTF-8"]
        environment["PATH"] = ProcessInfo.processInfo.environment["PATH"]
        driver = try ChildProcess(
            "timeout", ["--kill-after=5", "300", "chromedriver", "--port=0"], environment: environment)
        let driver = driver
        try await driver.waitForOutput("started successfully on port ")
        var port = ""
        try await waitUntil(description: "the driver's port is told") {
            let rest = driver.output.components(separatedBy: "started successfully on port ").last ?? ""
            port = String(rest.prefix { $0.isNumber })
            return rest.contains(".")
        }
        address = "http://127.0.0.1:\(port)"
        let arguments = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--autoplay-policy=no-user-gesture-required",
            "--user-data-dir=\(directory.file("profile"))",
        ]
        let capabilities: [String: Any] = [
            "alwaysMatch": [
                "browserName": "chrome",
                "goog:loggingPrefs": ["browser": "ALL"],
                "goog:chromeOptions": ["binary": "/usr/bin/chromium", "args": arguments],
            ]
        ]
        let answer = try await Self.send("POST", address + "/session", ["capabilities": capabilities])
        guard let identifier = (answer as? [String: Any])?["sessionId"] as? String else {
            throw Failure(description: "no session: \(answer)")
        }
        session = "\(address)/session/\(identifier)"
    }

    deinit {
        let ended = try? ChildProcess("curl", ["-s", "-m", "20", "-X", "DELETE", session]).waitBlocking()
        // `timeout` hands the signal on to its whole group.
        driver.kill(SIGTERM)
        if ended == nil { driver.kill(SIGKILL) }
    }

    /// By curl: the test process keeps to files and pipes.
    private static func send(_ method: String, _ url: String, _ body: [String: Any]?) async throws -> Any {
        var arguments = ["-s", "-m", "110", "-X", method, url]
        var input: [UInt8] = []
        if let body {
            input = [UInt8](try JSONSerialization.data(withJSONObject: body))
            arguments += ["-H", "Content-Type: application/json", "--data-binary", "@-"]
        }
        let result = try await ChildProcess.run("curl", arguments, input: input)
        let answer = try JSONSerialization.jsonObject(with: Data(result.standardOutput)) as? [String: Any]
        let value = answer?["value"] ?? NSNull()
        if let error = (value as? [String: Any])?["error"] as? String {
            throw Failure(description: "\(error): \((value as? [String: Any])?["message"] ?? "")")
        }
        return value
    }

    // MARK: What a person does

    /// Opens a file, or any address, and returns when it has been loaded.
    func open(_ path: String) async throws {
        let url = path.hasPrefix("/") ? URL(fileURLWithPath: path).absoluteString : path
        _ = try await Self.send("POST", session + "/url", ["url": url])
    }

    /// Clicks on the first element that a selector of CSS finds, as a mouse does.
    func click(_ selector: String) async throws {
        let found = try await Self.send(
            "POST", session + "/element", ["using": "css selector", "value": selector])
        // The name is a constant of the protocol.
        guard let element = (found as? [String: String])?["element-6066-11e4-a52e-4f735466cecf"] else {
            throw Failure(description: "no element \(selector): \(found)")
        }
        _ = try await Self.send("POST", "\(session)/element/\(element)/click", [:])
    }

    // MARK: What is to be seen

    /// The value of an expression of JavaScript in the page; not bound by the page's policy.
    func value<Value>(_ expression: String, as type: Value.Type = Value.self) async throws -> Value {
        let answer = try await Self.send(
            "POST", session + "/execute/sync", ["script": "return \(expression)", "args": [Any]()])
        guard let value = answer as? Value else {
            throw Failure(description: "\(expression) is \(answer)")
        }
        return value
    }

    /// Does something by JavaScript.
    func run(_ script: String) async throws {
        _ = try await Self.send("POST", session + "/execute/sync", ["script": script, "args": [Any]()])
    }

    /// What stands in the console since it was asked for last.
    func console() async throws -> [String] {
        let entries = try await Self.send("POST", session + "/se/log", ["type": "browser"]) as? [[String: Any]]
        return (entries ?? []).compactMap { $0["message"] as? String }
    }
}
