internal import CCurl
internal import Glibc

/// The certificate authorities by which servers are known, as files of the system.
package struct Authorities: Sendable, Equatable {
    /// A file with all of them; `nil` when curl was built without one.
    package var bundle: String?
    /// A folder with a file for each.
    package var folder: String?

    package init(bundle: String?, folder: String?) {
        self.bundle = bundle
        self.folder = folder
    }

    /// Where the system's curl was built to look.
    package static var inUse: Authorities {
        // Members of the structure from its seventh version on, 7.70; constants of the library.
        let version = curl_version_info(CURLVERSION_SEVENTH)
        return Authorities(
            bundle: version?.pointee.cainfo.map { String(cString: $0) },
            folder: version?.pointee.capath.map { String(cString: $0) })
    }

    /// Whether there is any: a bundle with something in it, or a folder with a file.
    package var isPresent: Bool {
        if let bundle {
            var status = stat()
            if stat(bundle, &status) == 0, status.st_size > 0, access(bundle, R_OK) == 0 { return true }
        }
        guard let folder, let entries = opendir(folder) else { return false }
        defer { closedir(entries) }
        while let entry = readdir(entries) {
            // By "." and ".." nobody is known.
            if entry.pointee.d_name.0 != CChar(bitPattern: UInt8(ascii: ".")) { return true }
        }
        return false
    }

    /// What to do when no https server can be known; `nil` when authorities are there, so that a refusal is the server's.
    package var advice: String? {
        isPresent
            ? nil
            : "no https server can be trusted here: the system has no certificate authorities"
                + (bundle.map { " (\($0))" } ?? "") + "; install the package ca-certificates"
    }
}
