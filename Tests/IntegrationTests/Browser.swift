import Foundation
import Glibc
import TestSupport
import Testing

/// Headless Chromium, controlled by WebDriver (https://www.w3.org/TR/webdriver2/).
///
/// When the last reference is released, the session is deleted, then browser and driver are terminated. Both run in the
/// process group of timeout(1), which also terminates them after five minutes.
final class Browser: Sendable {
    /// Whether the programs of Debian's packages `chromium` and `chromium-driver` exist and localhost has an address.
    /// The driver connects to the browser by this name, and a system made by debootstrap(8) alone has no /etc/hosts.
    static let isAvailable =
        ["chromium", "chromedriver"].allSatisfy { name in
            FileManager.default.isExecutableFile(atPath: "/usr/bin/\(name)")
        } && hasLocalhost
    static let requirement: Comment = "needs chromium, chromium-driver, and localhost in /etc/hosts"

    private static let hasLocalhost: Bool = {
        var found: UnsafeMutablePointer<addrinfo>?
        defer { freeaddrinfo(found) }
        return getaddrinfo("localhost", nil, nil, &found) == 0
    }()

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
        // The browser inherits no variable except PATH, because the settings of a desktop must not affect it.
        var environment = ["HOME": directory.path, "XDG_RUNTIME_DIR": directory.path, "LANG": "C.UTF-8"]
        environment["PATH"] = ProcessInfo.processInfo.environment["PATH"]
        driver = try ChildProcess(
            "timeout", ["--kill-after=5", "300", "chromedriver", "--port=0"], environment: environment)
        let driver = driver
        try await driver.waitForOutput("started successfully on port ")
        var port = ""
        try await waitUntil(description: "the driver prints its port") {
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
        // `timeout` forwards the signal to its process group.
        driver.kill(SIGTERM)
        if ended == nil { driver.kill(SIGKILL) }
    }

    /// Sends a request to the driver with curl, and returns the `value` of the answer. Throws a `Failure` if the driver
    /// reports an error.
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

    // MARK: User actions

    /// Opens a file or an address, and waits until it is loaded.
    func open(_ path: String) async throws {
        let url = path.hasPrefix("/") ? URL(fileURLWithPath: path).absoluteString : path
        _ = try await Self.send("POST", session + "/url", ["url": url])
    }

    /// Clicks on the first element that matches a CSS selector.
    func click(_ selector: String) async throws {
        let found = try await Self.send(
            "POST", session + "/element", ["using": "css selector", "value": selector])
        // The key is a constant of the protocol.
        guard let element = (found as? [String: String])?["element-6066-11e4-a52e-4f735466cecf"] else {
            throw Failure(description: "no element \(selector): \(found)")
        }
        _ = try await Self.send("POST", "\(session)/element/\(element)/click", [:])
    }

    // MARK: Page state

    /// Evaluates a JavaScript expression in the page and returns its value, or the result of a promise. The page's
    /// Content Security Policy does not apply to the expression.
    func value<Value>(_ expression: String, as type: Value.Type = Value.self) async throws -> Value {
        let answer = try await Self.send(
            "POST", session + "/execute/sync", ["script": "return \(expression)", "args": [Any]()])
        guard let value = answer as? Value else {
            throw Failure(description: "\(expression) is \(answer)")
        }
        return value
    }

    /// Waits until a JavaScript expression in the page is true.
    func wait(for description: String, _ condition: String) async throws {
        try await waitUntil(description: description) { try await value(condition, as: Bool.self) }
    }

    /// Runs JavaScript in the page.
    func run(_ script: String) async throws {
        _ = try await Self.send("POST", session + "/execute/sync", ["script": script, "args": [Any]()])
    }

    /// Returns the console messages since the previous call.
    func console() async throws -> [String] {
        let entries = try await Self.send("POST", session + "/se/log", ["type": "browser"]) as? [[String: Any]]
        return (entries ?? []).compactMap { $0["message"] as? String }
    }
}
