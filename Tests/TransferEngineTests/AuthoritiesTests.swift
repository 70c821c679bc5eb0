import Foundation
import TestSupport
import Testing

@testable import Transfers

/// The system's trusted certificates, or their absence, and certificates added by the user.
@Suite struct AuthoritiesTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    @Test func theAdviceNamesThePackageIfThereAreNoCertificates() throws {
        let (bundle, certificates) = (folder.file("bundle.crt"), folder.file("certs"))
        let advice = try #require(Authorities(bundle: bundle, folder: certificates).advice)
        #expect(advice.contains("install the package ca-certificates") && advice.contains(bundle))
        #expect(Authorities(bundle: nil, folder: nil).advice != nil)
        try folder.write("bundle.crt", text: "")
        try folder.makeDirectory("certs")
        #expect(!Authorities(bundle: bundle, folder: certificates).isPresent, "both are empty")
        // A bundle or a folder is sufficient.
        try folder.write("bundle.crt", text: "-----BEGIN CERTIFICATE-----\n")
        #expect(Authorities(bundle: bundle, folder: folder.file("nowhere")).advice == nil)
        try folder.write("certs/4a6481c9.0", text: "-----BEGIN CERTIFICATE-----\n")
        #expect(Authorities(bundle: folder.file("nowhere"), folder: certificates).advice == nil)
    }

    /// If there is a bundle, the system's folder is not used, because curl would parse both for each connection.
    @Test func theEnvironmentReplacesTheSystemsFiles() throws {
        let bundle = try folder.write("bundle.crt", text: "-----BEGIN CERTIFICATE-----\n")
        let standard = Authorities(bundle: bundle, folder: "/certs")
        #expect(Authorities(standard, file: nil, folder: nil) == Authorities(bundle: bundle, folder: nil))
        #expect(Authorities(standard, file: "/own", folder: nil) == Authorities(bundle: "/own", folder: nil))
        #expect(Authorities(standard, file: nil, folder: "/mine") == Authorities(bundle: bundle, folder: "/mine"))
        let absent = Authorities(bundle: folder.file("none"), folder: "/certs")
        #expect(Authorities(absent, file: nil, folder: nil) == absent)
    }

    @Test func furtherAuthoritiesAreAddedToTheBundle() throws {
        let bundle = try folder.write("bundle.crt", text: "system")
        let own = try folder.write("own.pem", text: "-----BEGIN CERTIFICATE-----\n")
        let all = try Authorities(bundle: bundle, folder: nil).adding(own, writing: folder.file("all.pem"))
        #expect(all == Authorities(bundle: folder.file("all.pem"), folder: nil))
        // The folder that the environment names is still used.
        let chosen = try Authorities(bundle: bundle, folder: "/mine").adding(own, writing: folder.file("all.pem"))
        #expect(chosen == Authorities(bundle: folder.file("all.pem"), folder: "/mine"))
        let text = try String(contentsOfFile: folder.file("all.pem"), encoding: .utf8)
        #expect(text == "system\n-----BEGIN CERTIFICATE-----\n")
        #expect(Authorities.defect(of: own) == nil)
        #expect(Authorities.defect(of: bundle) == "it contains no certificate in PEM format")
        #expect(Authorities.defect(of: folder.file("none")) == "No such file or directory")
    }

    @Test func aRejectionHasAReason() {
        #expect(EasyHandle.reason(1) == "it is for another host")
        #expect(EasyHandle.reason(20) == "its authority is not known here; transfers.ca_file can add it")
        #expect(EasyHandle.reason(23) == "certificate revoked")
    }

    @Test func thisSystemHasABundleOrAFolder() {
        #expect(Authorities.inUse.bundle != nil || Authorities.inUse.folder != nil)
    }
}
