internal import CCurl
internal import Glibc

/// The certificate authorities that servers are verified with, as files of the system.
package struct Authorities: Sendable, Equatable {
    /// A file with all of them; `nil` if curl was built without one.
    package var bundle: String?
    /// A folder with a file for each.
    package var folder: String?

    package init(bundle: String?, folder: String?) {
        self.bundle = bundle
        self.folder = folder
    }

    /// The default paths of the system's curl.
    package static var inUse: Authorities {
        // Both members exist from the structure's seventh version on (curl 7.70), and point to constants of the
        // library.
        let version = curl_version_info(CURLVERSION_SEVENTH)
        return Authorities(
            bundle: version?.pointee.cainfo.map { String(cString: $0) },
            folder: version?.pointee.capath.map { String(cString: $0) })
    }

    /// Whether the system has any authorities: a non-empty bundle, or a folder with a file.
    package var isPresent: Bool {
        if let bundle {
            var status = stat()
            if stat(bundle, &status) == 0, status.st_size > 0, access(bundle, R_OK) == 0 { return true }
        }
        guard let folder, let entries = opendir(folder) else { return false }
        defer { closedir(entries) }
        while let entry = readdir(entries) {
            // "." and ".." are not certificates.
            if entry.pointee.d_name.0 != CChar(bitPattern: UInt8(ascii: ".")) { return true }
        }
        return false
    }

    /// The remedy if no https server can be verified; `nil` if there are authorities, so that a failed verification is
    /// the server's fault.
    package var advice: String? {
        isPresent
            ? nil
            : "no https server can be trusted here: the system has no certificate authorities"
                + (bundle.map { " (\($0))" } ?? "") + "; install the package ca-certificates"
    }
}
