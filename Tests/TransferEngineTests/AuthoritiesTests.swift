import TestSupport
import Testing

@testable import TransferEngine

/// Whether the system has any trusted certificates.
@Suite struct AuthoritiesTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    @Test func withoutABundleAndAFolderThePackageIsNamed() throws {
        let none = Authorities(bundle: folder.file("bundle.crt"), folder: folder.file("certs"))
        #expect(!none.isPresent)
        let advice = try #require(none.advice)
        #expect(advice.contains("install the package ca-certificates") && advice.contains(folder.file("bundle.crt")))
        #expect(Authorities(bundle: nil, folder: nil).advice != nil)
    }

    @Test func whatIsEmptyIsNone() throws {
        let bundle = try folder.write("bundle.crt", text: "")
        let certificates = try folder.makeDirectory("certs")
        #expect(!Authorities(bundle: bundle, folder: certificates).isPresent)
    }

    @Test func eitherIsEnough() throws {
        let bundle = try folder.write("bundle.crt", text: "-----BEGIN CERTIFICATE-----\n")
        #expect(Authorities(bundle: bundle, folder: folder.file("nowhere")).advice == nil)
        let certificates = try folder.makeDirectory("certs")
        try folder.write("certs/4a6481c9.0", text: "-----BEGIN CERTIFICATE-----\n")
        #expect(Authorities(bundle: folder.file("nowhere"), folder: certificates).advice == nil)
    }

    @Test func thisSystemSaysWhereItLooks() {
        #expect(Authorities.inUse.bundle != nil || Authorities.inUse.folder != nil)
    }
}
