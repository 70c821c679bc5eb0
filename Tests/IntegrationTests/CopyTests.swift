import Foundation
import TestSupport
import Testing

/// Programs that read files in different ways, on uncached episodes.
@Suite(.timeLimit(.minutes(5))) struct CopyTests {
    /// A way to copy a file.
    struct Copier: Sendable {
        /// The required program; `nil` if it is part of every Debian system.
        var program: String?
        /// Whether the program determines the size before it opens the file, and copies no more bytes than that.
        var goesByStat = false
        /// A shell script that copies `$1` to `$2`.
        let script: String

        var isInstalled: Bool { program.map(InstalledProgram.exists) ?? true }
    }

    private static let archive = #"-C "${1%/*}" -cf "$2.tar" -- "${1##*/}""#

    static let copiers: [Copier] = [
        Copier(script: #"cat -- "$1" > "$2""#),
        Copier(script: #"cp -- "$1" "$2""#),
        Copier(script: #"cp -a --sparse=always -- "$1" "$2""#),
        Copier(script: #"cp --reflink=auto --sparse=auto -- "$1" "$2""#),
        Copier(script: #"install -m 600 -- "$1" "$2""#),
        Copier(script: #"dd if="$1" of="$2" bs=13 status=none"#),
        Copier(script: #"dd if="$1" of="$2" bs=7777 status=none"#),
        Copier(script: #"dd if="$1" of="$2" bs=1M iflag=direct status=none"#),
        // dd seeks over zeros instead of writing them; truncate restores the size if the file ends with zeros.
        Copier(script: #"dd if="$1" of="$2" bs=4096 conv=sparse status=none; truncate -r "$1" "$2""#),
        Copier(script: #"head -c 100001 -- "$1" > "$2"; tail -c +100002 -- "$1" >> "$2""#),
        Copier(script: #"split -n 7 -- "$1" "$2."; cat "$2".* > "$2""#),
        Copier(script: #"gzip -c -- "$1" | gzip -dc > "$2""#),
        Copier(script: #"perl -MFile::Copy -e 'copy(@ARGV) or die $!' "$1" "$2""#),
        Copier(script: #"tar -S \#(archive); tar -xOf "$2.tar" > "$2""#),
        Copier(program: "rsync", script: #"rsync -t -- "$1" "$2""#),
        Copier(program: "rsync", script: #"rsync -tS --checksum --no-whole-file -- "$1" "$2""#),
        Copier(program: "curl", script: #"curl -sS "file://$(printf %s "$1" | sed 's/ /%20/g')" > "$2""#),
        // The first uses sendfile(2), the second maps the length that fstat(2) reports.
        Copier(
            program: "python3", script: #"python3 -c 'import shutil, sys; shutil.copyfile(*sys.argv[1:])' "$1" "$2""#),
        Copier(
            program: "python3",
            script: #"""
                python3 -c 'import mmap, sys
                with open(sys.argv[1], "rb") as f, open(sys.argv[2], "wb") as copy:
                    copy.write(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ))' "$1" "$2"
                """#),
        // Extracts through `cat`, since bsdtar omits trailing zeros when it writes to a file.
        Copier(
            program: "bsdtar", goesByStat: true,
            script: #"bsdtar --read-sparse \#(archive); bsdtar -xOf "$2.tar" | cat > "$2""#),
        Copier(program: "busybox", goesByStat: true, script: #"busybox cp -- "$1" "$2""#),
        Copier(program: "busybox", goesByStat: true, script: #"busybox tar \#(archive); tar -xOf "$2.tar" > "$2""#),
    ].filter(\.isInstalled)

    /// Returns content with runs of zeros, which a program could treat as holes.
    private static func patchy(_ number: Int) -> [UInt8] {
        let zeros = [UInt8](repeating: 0, count: 200_000)
        return TestContent(seed: UInt64(number), size: 100_000).bytes + zeros
            + TestContent(seed: UInt64(1_000 + number), size: 90_001).bytes + zeros
    }

    private static let size = patchy(1).count

    /// - Parameter length: The length in the feed: correct, too small, too large, missing.
    @Test(arguments: [size, size - 123_456, size + 123_456, nil])
    func everyProgramCopiesTheWholeFile(_ length: Int?) async throws {
        let show = try await MountedShow(episodes: Self.copiers.count, size: Self.size, length: length)
        for (index, copier) in Self.copiers.enumerated() {
            let number = index + 1
            let expected = Self.patchy(number)
            show.server.serve("/\(number).mp3", Resource(bytes: expected, contentType: "audio/mpeg"))
            let path = show.path(number)
            // Only an open of the file corrects its size, so a program that calls stat(2) before the open would copy
            // too few bytes. GNU tar does not open a world-readable file of size 0.
            if length != Self.size, copier.goesByStat || (length == nil && copier.script.hasPrefix("tar ")) {
                try await show.confirmSize(of: path)
            }
            let copy = show.home.directory.file("copy-\(number)")
            let run = try await ChildProcess.run("sh", ["-ec", copier.script, "sh", path, copy])
            #expect(run.exitCode == 0 && run.error.isEmpty, "\(copier.script): \(run.error)")
            let copied = FileManager.default.contents(atPath: copy) ?? Data()
            #expect(copied.count == expected.count, "\(copier.script)")
            // Compared outside the expectation, which would compute all differences.
            let isSame = copied == Data(expected)
            #expect(isSame, "\(copier.script)")
        }
    }

    @Test(
        .enabled(if: InstalledProgram.exists("rsync"), "rsync is not installed"), arguments: [nil, 300_000, 400_000])
    func aSecondRunOfRsyncCopiesNothing(_ length: Int?) async throws {
        let show = try await MountedShow(length: length)
        let copy = show.home.directory.file("copy")
        // index.html marks cached episodes, so it differs after the first run.
        let arguments = [
            "-rt", "--itemize-changes", "--exclude=index.html", "\(show.mount.mountPoint)/\(MountedShow.show)/", copy,
        ]
        let first = try await ChildProcess.run("rsync", arguments)
        #expect(first.exitCode == 0 && first.error.isEmpty, "\(first.error)")
        for number in 1...3 {
            let name = URL(fileURLWithPath: show.path(number)).lastPathComponent
            #expect(first.output.contains(name))
            let bytes = FileManager.default.contents(atPath: "\(copy)/\(name)") ?? Data()
            #expect(bytes.count == 300_000 && MountedShow.content(number).matches(bytes), "\(name)")
        }
        let requests = show.server.requests.count
        let second = try await ChildProcess.run("rsync", arguments)
        #expect(second.exitCode == 0 && second.output.isEmpty, "\(second.output)\(second.error)")
        #expect(show.server.requests.count == requests)
    }

    @Test func grepFindsTextAtTheEndOfTheFile() async throws {
        let line = "all the same, line for line\n"
        // The file starts with the signature of FLAC, since podfs refuses plain text in place of media.
        let text = Array(("fLaC\n" + String(repeating: line, count: 80_000) + "the needle\n").utf8)
        let show = try await MountedShow(episodes: 2, length: nil)
        show.server.serve("/1.mp3", Resource(bytes: text))
        show.server.serve("/2.mp3", Resource(bytes: text))
        #expect(try await ChildProcess.run("grep", ["-c", "same", show.path(1)]).output == "80000\n")
        #expect(try await ChildProcess.run("grep", ["-n", "needle", show.path(1)]).output == "80002:the needle\n")
        // Episode 2 is not cached yet. grep treats a file with holes as binary, so podfs must not report a hole.
        #expect(try await ChildProcess.run("grep", ["-n", "needle", show.path(2)]).output == "80002:the needle\n")
        let count = try await ChildProcess.run("wc", ["-c", "--", show.path(2)])
        #expect(count.output.hasPrefix("\(text.count) "), "\(count.output)")
    }
}
