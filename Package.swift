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
func target(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

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
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "CLinux"),

        // System calls that are retried on EINTR, clocks, atomic files, processes, threads.
        target("Platform", ["CCurl", "CLinux"]),

        // The meaning of players' reports, as values.
        target("Listening", ["TransferCore", "Platform"]),

        // The parsers of feeds, the library, and the pages made from it.
        target("PodcastFeed", ["Platform"]),
        target("PodcastLibrary", ["PodcastFeed", "Listening", "TransferCore", "Platform", "CLinux", grdb]),
        target("PodcastPages", ["PodcastLibrary", "PodcastFeed", "TransferCore", "Platform", "CLibXML2"]),

        // Transfers. TransferCore, ContentCache and TransferEngine are independent of podcasts.
        target("TransferCore", ["Platform"]),
        // The daemon's decisions, as values.
        target("DaemonCore", ["PodcastProtocol", "Listening", "TransferCore", "Platform"]),
        target("ContentCache", ["CCrypto", "CLinux", "Platform", systemPackage]),
        target(
            "TransferEngine",
            ["TransferCore", "ContentCache", "CCurl", "CLinux", "Platform", systemPackage, logging]),

        // The daemon and its clients.
        target("PodcastProtocol", ["Listening", "TransferCore", "Platform"]),
        target(
            "PodcastService",
            [
                "PodcastProtocol", "PodcastLibrary", "PodcastFeed", "Listening", "DaemonCore", "TransferEngine",
                "TransferCore", "ContentCache", "CCrypto", "CSystemd", "CLinux", "Platform", systemPackage, logging,
            ]),
        target("PodcastClient", ["PodcastProtocol", "TransferCore", "CLinux", "Platform"]),

        // The mount.
        target("Players", ["Listening", "TransferCore", "CSystemd", "CLinux", "Platform"]),
        target("Fuse", ["CFuse", "CLinux", "Platform", systemPackage]),
        target(
            "PodcastFilesystem",
            [
                "PodcastLibrary", "PodcastPages", "PodcastFeed", "PodcastClient", "PodcastProtocol", "TransferCore",
                "Listening", "Players", "ContentCache", "Fuse", "CLinux", "Platform", systemPackage,
            ]),

        .executableTarget(
            name: "podfs",
            dependencies: [
                "PodcastFilesystem", "PodcastService", "PodcastClient", "PodcastPages", "PodcastLibrary",
                "PodcastFeed", "Listening", "Players", "PodcastProtocol", "DaemonCore", "TransferEngine",
                "TransferCore",
                "ContentCache",
                "Fuse", "CLinux", "Platform",
                logging, systemPackage,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "TOMLKit", package: "TOMLKit"),
                .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
            ],
            swiftSettings: strict),

        // `swift package deb`.
        .plugin(
            name: "DebianPackage",
            capability: .command(
                intent: .custom(verb: "deb", description: "Build a Debian package of podfs for this machine.")),
            path: "Sources/DebianPackage"),

        .target(
            name: "TestSupport", dependencies: ["CLinux", "CSystemd", "Platform"], path: "Tests/TestSupport",
            swiftSettings: strict),
        tests("PlatformTests", ["Platform", "CCurl", "CLinux", "TestSupport"]),
        tests("PodcastFeedTests", ["PodcastFeed", "Platform", "TestSupport"], resources: [.copy("Fixtures")]),
        tests(
            "PodcastLibraryTests",
            ["PodcastLibrary", "Platform", "PodcastFeed", "Listening", "TransferCore", "TestSupport", grdb]),
        tests(
            "PodcastPagesTests",
            ["PodcastPages", "PodcastLibrary", "PodcastFeed", "TransferCore", "Platform", "CCrypto", "TestSupport"]),
        tests("PlayersTests", ["Players", "Listening", "TransferCore", "TestSupport"]),
        tests("ListeningTests", ["Listening", "TransferCore", "Platform", "TestSupport"]),
        tests("TransferCoreTests", ["TransferCore", "Platform", "TestSupport"]),
        tests("DaemonCoreTests", ["DaemonCore", "Platform", "PodcastProtocol", "TransferCore", "TestSupport"]),
        tests("ContentCacheTests", ["ContentCache", "CLinux", "TestSupport", systemPackage]),
        tests(
            "TransferEngineTests",
            ["TransferEngine", "TransferCore", "ContentCache", "Platform", "TestSupport", systemPackage]),
        tests("PodcastProtocolTests", ["PodcastProtocol", "TransferCore", "TestSupport"]),
        tests(
            "PodcastServiceTests",
            [
                "PodcastService", "Platform", "PodcastClient", "PodcastLibrary", "PodcastFeed", "Listening",
                "PodcastProtocol", "DaemonCore", "TransferEngine", "TransferCore", "ContentCache", "TestSupport",
                "CLinux", systemPackage, grdb,
            ]),
        tests("PodcastClientTests", ["PodcastClient", "PodcastProtocol", "TestSupport", "CLinux"]),
        tests("FuseTests", ["Fuse", "CLinux", systemPackage]),
        tests(
            "PodcastFilesystemTests",
            [
                "PodcastFilesystem", "PodcastClient", "PodcastProtocol", "PodcastLibrary", "PodcastFeed",
                "PodcastPages", "ContentCache", "Platform", "TransferCore", "Fuse", "TestSupport", "CLinux",
                systemPackage,
            ]),
        tests(
            "IntegrationTests",
            [
                "podfs", "CLinux", "PodcastClient", "PodcastLibrary", "PodcastPages", "PodcastProtocol",
                "PodcastService", "TestSupport", "TransferCore",
            ]),
    ]
)
