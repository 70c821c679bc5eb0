import PodcastProtocol
import Testing

@Suite struct InstallationPathsTests {
    @Test func theHomeFolderIsEnough() throws {
        let paths = try #require(InstallationPaths(environment: ["HOME": "/home/ann"]))
        #expect(paths.library == "/home/ann/.local/share/podfs/library.sqlite")
        #expect(paths.cache == "/home/ann/.cache/podfs")
        #expect(paths.configFile == "/home/ann/.config/podfs/config.toml")
        #expect(paths.log == "/home/ann/.local/state/podfs/daemon.log")
        #expect(paths.socket == "/home/ann/.local/state/podfs/run/daemon.sock")
        #expect(paths.pidFile == "/home/ann/.local/state/podfs/run/daemon.pid")
        #expect(paths.startLock == "/home/ann/.local/state/podfs/run/start.lock")
    }

    @Test func eachVariableMovesItsFolder() throws {
        let paths = try #require(
            InstallationPaths(environment: [
                "XDG_DATA_HOME": "/d", "XDG_CACHE_HOME": "/c", "XDG_CONFIG_HOME": "/k", "XDG_STATE_HOME": "/s",
                "XDG_RUNTIME_DIR": "/r",
            ]))
        #expect(
            paths.folders == [
                "/d/podfs", "/d/podfs/feeds", "/d/podfs/uploads", "/c/podfs", "/c/podfs/assets", "/k/podfs", "/s/podfs",
                "/r/podfs",
            ])
        #expect(paths.socket == "/r/podfs/daemon.sock")
    }

    @Test(arguments: ["", "relative", "./x", "~/x"])
    func relativePathsAreIgnored(value: String) throws {
        let variables = ["XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"]
        var environment = Dictionary(uniqueKeysWithValues: variables.map { ($0, value) })
        environment["HOME"] = "/h"
        #expect(InstallationPaths(environment: environment) == InstallationPaths(environment: ["HOME": "/h"]))
        environment["HOME"] = value
        #expect(InstallationPaths(environment: environment) == nil)
    }

    @Test func aTrailingSlashIsIgnored() {
        #expect(InstallationPaths(environment: ["HOME": "/h/"]) == InstallationPaths(environment: ["HOME": "/h"]))
        #expect(
            InstallationPaths(environment: ["HOME": "/h", "XDG_CACHE_HOME": "/c//", "XDG_RUNTIME_DIR": "/r/"])
                == InstallationPaths(environment: ["HOME": "/h", "XDG_CACHE_HOME": "/c", "XDG_RUNTIME_DIR": "/r"]))
    }
}
