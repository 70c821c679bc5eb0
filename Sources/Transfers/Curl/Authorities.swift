internal import CCurl
internal import Glibc
internal import Platform

/// The files with the certificate authorities (CAs) by which the certificates of servers are verified.
package struct Authorities: Sendable, Equatable {
    /// The path of a file with the certificates of all authorities; `nil` if curl was built without one.
    package var bundle: String?
    /// The path of a folder with one file for each authority, named by the hash of the authority's subject.
    package var folder: String?

    package init(bundle: String?, folder: String?) {
        self.bundle = bundle
        self.folder = folder
    }

    /// The paths in the environment variables SSL_CERT_FILE and SSL_CERT_DIR, which OpenSSL reads too; if they are not
    /// set, the paths of the system's curl.
    package static let inUse: Authorities = {
        let environment = { (name: String) in getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
        }
        // Both members exist from the structure's seventh version on (curl 7.70), and point to constants of the
        // library.
        let version = curl_version_info(CURLVERSION_SEVENTH)
        let standard = Authorities(
            bundle: version?.pointee.cainfo.map { String(cString: $0) },
            folder: version?.pointee.capath.map { String(cString: $0) })
        return Authorities(standard, file: environment("SSL_CERT_FILE"), folder: environment("SSL_CERT_DIR"))
    }()

    /// Replaces standard paths by those of the environment.
    ///
    /// If there is a bundle, a folder is used only if the environment names it. With a bundle and a folder, libcurl
    /// would parse both for every new TLS connection, which takes 19 ms of processor time and 870 KiB with Debian's
    /// authorities. With a bundle only, it caches the parsed bundle (CURLOPT_CA_CACHE_TIMEOUT(3)). Distributions write
    /// the same certificates to the bundle and the folder.
    init(_ standard: Authorities, file: String?, folder: String?) {
        bundle = file ?? standard.bundle
        if let folder {
            self.folder = folder
        } else if file != nil || Self.isUsable(standard.bundle) {
            self.folder = nil
        } else {
            self.folder = standard.folder
        }
    }

    /// Whether there are any authorities: a non-empty bundle, or a folder with a file.
    package var isPresent: Bool {
        if Self.isUsable(bundle) { return true }
        // "." and ".." are not certificates.
        return folder.flatMap(names)?.contains { !$0.hasPrefix(".") } ?? false
    }

    private static func isUsable(_ bundle: String?) -> Bool {
        guard let bundle else { return false }
        var status = stat()
        return stat(bundle, &status) == 0 && status.st_size > 0 && access(bundle, R_OK) == 0
    }

    /// An error message with a remedy if there are no authorities, so that no https server can be verified. `nil` if
    /// there are some, because a failed verification is then the server's fault.
    package var advice: String? {
        isPresent
            ? nil
            : "no https server can be trusted here: there are no certificate authorities"
                + (bundle.map { " (\($0))" } ?? "") + "; " + Self.remedy
    }

    private static let remedy = "install the package ca-certificates, or correct SSL_CERT_FILE"

    // MARK: Further authorities

    /// The maximum size in bytes of a file of certificates: a system's bundle has 200 to 300 KiB.
    private static let largestFile = 16 << 20

    /// Returns the reason why a file has no certificates in PEM format; `nil` if it has some.
    package static func defect(of file: String) -> String? {
        guard let bytes = contents(of: file) else { return errnoText() }
        let text = String(decoding: bytes, as: UTF8.self)
        return text.contains("-----BEGIN CERTIFICATE-----") || text.contains("-----BEGIN TRUSTED CERTIFICATE-----")
            ? nil : "it contains no certificate in PEM format"
    }

    /// Writes the bundle and the certificates in `file` to `place`, because libcurl reads only one file.
    ///
    /// - Returns: These authorities, with `place` as their bundle.
    package func adding(_ file: String, writing place: String) throws -> Authorities {
        guard let own = Self.contents(of: file) else {
            throw AtomicFile.Problem(description: "\(file): \(errnoText())")
        }
        let present = bundle.flatMap(Self.contents) ?? []
        try AtomicFile.write(present + [UInt8(ascii: "\n")] + own, to: place, mode: 0o600, isSoleWriter: true)
        return Authorities(bundle: place, folder: folder)
    }

    private static func contents(of file: String) -> [UInt8]? {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return readAll(descriptor, limit: largestFile)
    }
}

/// Returns the version of the libcurl that runs.
package func curlVersion() -> String { String(cString: curl_version_info(CURLVERSION_FIRST).pointee.version) }
