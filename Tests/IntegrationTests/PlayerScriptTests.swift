import Foundation
import TestSupport
import Testing

/// The installation of the script for mpv.
@Suite(
    .timeLimit(.minutes(5)),
    .disabled(if: FileManager.default.fileExists(atPath: "/etc/mpv/scripts/podfs.lua"), "installed for all users"))
struct PlayerScriptTests {
    private let home: PodfsHome
    private var script: String { home.directory.file("config/mpv/scripts/podfs.lua") }

    init() throws { home = try PodfsHome() }

    private var content: [UInt8] { FileManager.default.contents(atPath: script).map { Array($0) } ?? [] }

    @Test func theInstalledScriptIsReplaced() async throws {
        for _ in 0..<2 {
            try await home.run("player", "mpv", "--install").printed("installed \(script)\n")
        }
        // Without a podfs in PATH, the installed script starts the program that installed it.
        let printed = try await home.run("player", "mpv").output
        let installed = String(decoding: content, as: UTF8.self)
        #expect(installed.contains("program = \"/") != InstalledProgram.exists("podfs"))
        #expect(installed.replacing(#/program = "[^"]+"/#, with: "program = \"podfs\"") == printed)
    }

    /// The second script is not valid UTF-8.
    @Test(arguments: [Array("-- mine\n".utf8), [0x2D, 0x2D, 0x20, 0xFC, 0x0A]] as [[UInt8]])
    func anotherScriptOfThatNameIsNotReplaced(own: [UInt8]) async throws {
        try home.directory.makeDirectory("config/mpv/scripts")
        try home.directory.write("config/mpv/scripts/podfs.lua", own)
        try await home.run("player", "mpv", "--install").failed(says: "move it away first")
        #expect(content == own)
    }
}
