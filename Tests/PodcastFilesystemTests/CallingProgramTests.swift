import Foundation
import TestSupport
import Testing

@testable import PodcastFilesystem

/// The program that makes a FUSE request, determined from the /proc entry of the requesting thread.
struct CallingProgramTests {
    private let proc: TemporaryDirectory

    init() throws { proc = try TemporaryDirectory() }

    /// Creates the /proc entry of a process or of a thread.
    private func add(
        _ number: Int32, of leader: Int32? = nil, executable: String? = nil, comm: String, command: [String] = []
    ) throws {
        try proc.makeDirectory("\(number)")
        try proc.write(
            "\(number)/status",
            text: "Name:\tTgid:\t9\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t\(leader ?? number)\n")
        try proc.write("\(number)/comm", text: comm + "\n")
        try proc.write("\(number)/cmdline", text: command.map { $0 + "\0" }.joined())
        if let executable {
            try FileManager.default.createSymbolicLink(
                atPath: proc.file("\(number)/exe"), withDestinationPath: executable)
        }
    }

    private func program(_ thread: Int32) -> CallingProgram? { CallingProgram(thread: thread, proc: proc.path) }

    @Test func theExecutableDecidesNotTheThreadsName() throws {
        try add(10, executable: "/usr/libexec/tracker-extract-3", comm: "tracker-extract")
        try add(11, of: 10, executable: "/usr/libexec/tracker-extract-3", comm: "pool-spawner")
        try add(12, executable: "/opt/x/baloo_file_extractor (deleted)", comm: "kf5")
        try add(13, executable: "/usr/bin/mpv", comm: "tracker-extract")
        #expect(program(10)?.name == "tracker-extract-3" && program(11)?.name == "tracker-extract-3")
        #expect(program(12)?.name == "baloo_file_extractor")
        #expect(program(13)?.isAmong(["tracker-extract"]) == false)
    }

    /// Another user's executable cannot be read (proc_pid_exe(5)).
    @Test func withoutAnExecutableTheLeadersNameDecides() throws {
        try add(20, comm: "totem-video-thu")
        try add(21, of: 20, comm: "gstreamer:src")
        try add(22, comm: "updatedb")
        for thread: Int32 in [20, 21] {
            let found = program(thread)
            #expect(found == CallingProgram(thread: 20, proc: proc.path) && found?.isCut == true)
            #expect(found?.isAmong(["totem-video-thumbnailer"]) == true)
            #expect(found?.isAmong(["totem-video"]) == false && found?.isAmong(["gstreamer:src"]) == false)
        }
        #expect(program(22)?.isAmong(["updatedb"]) == true)
        #expect(program(22)?.isAmong(["updatedb.plocate"]) == false, "8 bytes are the whole name")
    }

    private static let commands: [([String], executable: String, script: String?)] = [
        (["python3", "/usr/bin/beet", "import"], "python3.11", "beet"),
        (["/usr/bin/python3", "-u", "-W", "ignore", "/opt/my-scan.py", "-c", "x"], "python3", "my-scan"),
        (["python3", "-m", "my.scan", "x"], "python3.12", "my"),
        (["node", "--no-warnings", "-r", "./hook.js", "/srv/scan/scan.mjs"], "node", "scan"),
        (["perl", "-w", "-I", "/lib/x", "/usr/bin/exiftool", "a.mp3"], "perl5.36-x86_64-linux-gnu", "exiftool"),
        (["python3", "-Es", "-d", "-X", "dev", "-Wignore", "/opt/scan.py", "x"], "python3.12", "scan"),
        (["python3", "-um", "my.scan", "x"], "python3.12", "my"),
        (["perl", "-d:Trace", "-X", "-l", "-W", "/opt/scan.pl", "x"], "perl", "scan"),
        (["perl", "-p", "-i.bak", "-MFile::Find=find", "/opt/scan.pl", "x"], "perl", "scan"),
        (["ruby", "-E", "utf-8", "-W0", "-rjson", "/opt/scan.rb"], "ruby3.1", "scan"),
        (["lua5.4", "-E", "-e", "x=1", "/opt/scan.lua"], "lua5.4", "scan"),
        (["php", "-d", "a=b", "-n", "/x/scan.php"], "php8.2", "scan"),
        (["guile", "-e", "main", "-s", "/opt/scan.scm"], "guile-3.0", "scan"),
        (["ruby3.1", "/usr/local/bin/scan"], "ruby3.1", "scan"),
        (["deno", "run", "--allow-read", "scan.ts"], "deno", "scan"),
        (["php", "-f", "/x/scan.php"], "php8.2", "scan"),
        (["python3", "/opt/player.py", "scan"], "python3", nil),
        (["python3"], "python3", nil),
        ([], "python3", nil),
        (["mpv", "/usr/bin/beet"], "mpv", nil),
        (["nodeterm", "/usr/bin/beet"], "nodeterm", nil),
        (["perlite", "beet"], "perlite", nil),
        (["-bash", "/usr/bin/beet"], "bash", nil),
    ]

    @Test(arguments: commands) func theScriptOfAnInterpreterIsRecognized(
        words: [String], executable: String, script: String?
    ) throws {
        try add(30, executable: "/usr/bin/\(executable)", comm: executable, command: words)
        try add(31, of: 30, comm: "worker", command: words)
        #expect(program(31)?.isAmong([script ?? ""]) == (script != nil), "a thread of the process")
        let found = try #require(program(30))
        #expect(found.isAmong([executable]), "the interpreter can be listed too")
        #expect(found.isAmong([script ?? ""]) == (script != nil), "\(found)")
        if script == nil { #expect(!found.isAmong(["beet", "scan", "my-scan", "print"])) }
    }

    /// The `exe` link of another user's process is not readable, so `comm` identifies the interpreter.
    @Test func aScriptOfAnotherUserIsRecognized() throws {
        try add(40, comm: "python3", command: ["/usr/bin/python3", "/usr/bin/beet"])
        try add(41, of: 40, comm: "Thread-1", command: ["/usr/bin/python3", "/usr/bin/beet"])
        #expect(program(41)?.isAmong(["beet"]) == true)
    }

    @Test func anExitedProcessIsUnknown() throws {
        #expect(program(50) == nil && program(0) == nil && program(-1) == nil)
        try proc.makeDirectory("51")
        #expect(program(51) == nil)
        try proc.write("51/comm", text: "updatedb\n")
        #expect(program(51)?.isAmong(["updatedb"]) == true, "a status that cannot be read names no other leader")
    }
}
