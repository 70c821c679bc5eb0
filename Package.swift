// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

/// Returns a library target with the settings `strict`. CI refuses an import of a module that is not in `dependencies`
/// (`--explicit-target-dependency-import-check error`).
func target(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

/// The commit of the sources, which `podfs --version` prints; empty if git does not know it. A `+` marks changed files.
let commit = Context.gitInformation.map { $0.currentCommit.prefix(12) + ($0.hasUncommittedChanges ? "+" : "") } ?? ""

let systemPackage: Target.Dependency = .product(name: "SystemPackage", package: "swift-system")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")

let package = Package(
    name: "podfs",
    products: [.executable(name: "podfs", targets: ["podfs"])],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-system", exact: "1.8.1"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/LebJe/TOMLKit", exact: "0.6.0"),
        .package(url: "https://github.com/swhitty/FlyingFox", exact: "0.27.1"),
    ],
    targets: [
        // C libraries and the calls that Glibc's module map lacks. No logic.
        .systemLibrary(name: "CFuse", pkgConfig: "fuse3", providers: [.apt(["libfuse3-dev", "fuse3"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CLibXML2", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),
        .systemLibrary(name: "CPCRE2", pkgConfig: "libpcre2-8", providers: [.apt(["libpcre2-dev"])]),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "CLinux", cSettings: [.define("PODFS_COMMIT", to: "\"\(commit)\"")]),

        // System calls that are retried on EINTR, clocks, atomic files, processes, threads.
        target("Platform", ["CCurl", "CLinux"]),

        // One HTTP transfer, whole. Knows no podcasts.
        target("Transfers", ["CCrypto", "CCurl", "CLinux", "Platform", systemPackage, logging]),

        // The messages, their vocabulary, and the client's end of the socket.
        target("PodcastProtocol", ["Transfers", "CLinux", "Platform"]),

        // The parsers of feeds, the library, and the pages made from it.
        target("PodcastFeed", ["Platform"], resources: [.embedInCode("Resources/entities.txt")]),
        target(
            "PodcastLibrary",
            ["PodcastFeed", "PodcastProtocol", "Transfers", "Platform", "CLinux", "CPCRE2", grdb],
            resources: [.embedInCode("Schema/schema.sql"), .embedInCode("Views/view_changes.sql")]),
        target(
            "PodcastPages",
            [
                "PodcastLibrary", "PodcastFeed", "PodcastProtocol", "Transfers", "Platform", "CCrypto", "CLibXML2",
            ],
            resources: [.embedInCode("Resources/page.css"), .embedInCode("Resources/page.js")]),

        // The daemon.
        target(
            "PodcastService",
            [
                "PodcastProtocol", "PodcastLibrary", "PodcastPages", "PodcastFeed", "Transfers", "CCrypto", "CSystemd",
                "CLinux", "Platform", systemPackage, logging,
            ]),

        // The mount.
        target("Fuse", ["CFuse", "CLinux", "Platform", systemPackage]),
        target(
            "PodcastFilesystem",
            [
                "PodcastLibrary", "PodcastPages", "PodcastFeed", "PodcastProtocol", "Transfers", "Fuse",
                "CSystemd", "CLinux", "Platform", systemPackage,
            ]),

        .executableTarget(
            name: "podfs",
            dependencies: [
                "PodcastFilesystem", "PodcastService", "PodcastPages", "PodcastLibrary", "PodcastFeed",
                "PodcastProtocol", "Transfers", "Fuse", "CLinux", "Platform",
                logging, systemPackage,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "TOMLKit", package: "TOMLKit"),
                .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
            ],
            resources: [.embedInCode("Players/podfs.lua")],
            swiftSettings: strict),

        // `swift package deb`.
        .plugin(
            name: "DebianPackage",
            capability: .command(
                intent: .custom(verb: "deb", description: "Build a Debian package of podfs for this machine.")),
            path: "Sources/DebianPackage"),

        .target(
            name: "TestSupport", dependencies: ["CFuse", "CLinux", "CSystemd", "Fuse", "Platform", "PodcastProtocol"],
            path: "Tests/TestSupport",
            swiftSettings: strict),
        tests("PlatformTests", ["Platform", "CCurl", "CLinux", "TestSupport"]),
        tests("PodcastFeedTests", ["PodcastFeed", "Platform", "TestSupport"], resources: [.copy("Fixtures")]),
        tests(
            "PodcastLibraryTests",
            ["PodcastLibrary", "PodcastProtocol", "Platform", "PodcastFeed", "Transfers", "TestSupport", grdb]),
        tests(
            "PodcastPagesTests",
            [
                "PodcastPages", "PodcastLibrary", "PodcastFeed", "PodcastProtocol", "Transfers", "Platform", "CCrypto",
                "TestSupport",
            ]),
        tests("PlayersTests", ["PodcastFilesystem", "PodcastProtocol", "Transfers", "TestSupport"]),
        tests(
            "ListeningTests",
            ["PodcastFilesystem", "PodcastService", "PodcastProtocol", "Transfers", "Platform", "TestSupport"]),
        tests("TransferCoreTests", ["Transfers", "Platform", "TestSupport"]),
        tests("DaemonCoreTests", ["PodcastService", "Platform", "PodcastProtocol", "Transfers", "TestSupport"]),
        tests("ContentCacheTests", ["Transfers", "CLinux", "TestSupport", systemPackage]),
        tests(
            "TransferEngineTests",
            ["Transfers", "Platform", "TestSupport", systemPackage]),
        tests("PodcastProtocolTests", ["PodcastProtocol", "Transfers", "TestSupport"]),
        tests(
            "PodcastServiceTests",
            [
                "PodcastService", "Platform", "PodcastProtocol", "PodcastLibrary", "PodcastFeed",
                "Transfers", "TestSupport", "CLinux", systemPackage, grdb,
            ]),
        tests("PodcastClientTests", ["PodcastProtocol", "Platform", "TestSupport", "CLinux"]),
        tests("FuseTests", ["Fuse", "CFuse", "CLinux", "Platform", "TestSupport", systemPackage]),
        tests(
            "PodcastFilesystemTests",
            [
                "PodcastFilesystem", "PodcastProtocol", "PodcastLibrary", "PodcastFeed", "PodcastPages", "Transfers",
                "Platform", "Fuse", "TestSupport", "CLinux", systemPackage,
            ]),
        tests(
            "IntegrationTests",
            [
                "podfs", "CLinux", "PodcastProtocol", "PodcastLibrary", "PodcastPages", "PodcastService", "TestSupport",
                "Transfers",
            ]),
    ]
)
