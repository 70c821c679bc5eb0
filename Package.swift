// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

/// A target of podfs: the name and what it imports, and nothing else.
func target(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")

let package = Package(
    name: "podfs",
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        // C libraries and the calls that Glibc's module map lacks. No logic.
        .systemLibrary(name: "CLibXML2", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),
        .target(name: "CLinux"),

        // What a feed says, and what the library keeps of it.
        target("PodcastFeed", ["CLibXML2"]),
        target("PodcastLibrary", ["PodcastFeed", "CLinux", grdb]),

        // Transfers. These know nothing of podcasts.
        target("TransferCore", []),

        // The daemon and its clients.

        // The mount.

        tests("PodcastFeedTests", ["PodcastFeed"], resources: [.copy("Fixtures")]),
        tests("PodcastLibraryTests", ["PodcastLibrary", "PodcastFeed"]),
        tests("TransferCoreTests", ["TransferCore"]),
    ]
)
