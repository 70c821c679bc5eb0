internal import CCurl
/// A field of a form (RFC 7578).
package struct FormPart: Sendable, Equatable {
    /// The content of a field.
    package enum Content: Sendable, Equatable {
        case text(String)
        /// The file at `path`, and the name and MIME type that are sent with it. curl reads the file during the
        /// transfer, so `path` must be that of a private copy, which no other program changes.
        case file(path: String, name: String, type: String?)
    }

    package var name: String
    package var content: Content

    package init(name: String, content: Content) {
        self.name = name
        self.content = content
    }
}

// The method and the body of a request.
extension EasyHandle {
    enum Method {
        /// GET, or a POST if the request has a body in memory.
        case get
        case head
        case options
        /// A POST of multipart/form-data.
        case post([FormPart])
        /// A PUT or PATCH, whose body curl reads from the `UploadBody` during the transfer.
        case send(method: String, UploadBody)

        /// Whether the request has a form or an `UploadBody`.
        var sendsBody: Bool {
            switch self {
            case .get, .head, .options: false
            case .post, .send: true
            }
        }
    }

    /// The size of curl's upload buffer in bytes. The default of 64 KiB costs twice the calls and saves no significant
    /// memory.
    private static let sendBuffer = 256 * 1024

    func configureMethod(_ method: Method) {
        let handle = pointer
        switch method {
        case .get: break
        case .head: ccurl_set_long(handle, CURLOPT_NOBODY, 1)
        case .options: ccurl_set_string(handle, CURLOPT_CUSTOMREQUEST, "OPTIONS")
        case .post(let parts):
            form = makeForm(parts)
            ccurl_set_form(handle, form)
            // Use a new connection. If a reused connection turns out to be closed, curl repeats the request by itself.
            // A POST would then arrive twice if the server had read it before it closed the connection.
            ccurl_set_long(handle, CURLOPT_FRESH_CONNECT, 1)
        case .send(let name, let body):
            ccurl_set_long(handle, CURLOPT_UPLOAD, 1)
            if name != "PUT" { ccurl_set_string(handle, CURLOPT_CUSTOMREQUEST, name) }
            ccurl_set_long(handle, CURLOPT_UPLOAD_BUFFERSIZE, Self.sendBuffer)
            ccurl_set_offset(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(body.count))
            setBodyCallbacks()
        }
    }

    /// Sets the callbacks that read the body. Their context is an unretained pointer to this object, as for the other
    /// callbacks. It stays valid, because `Exchanges` retains this object during the transfer and `deinit` cleans
    /// up the handle. This object retains the body.
    private func setBodyCallbacks() {
        let handle = pointer
        let context = Unmanaged.passUnretained(self).toOpaque()
        ccurl_set_pointer(handle, CURLOPT_READDATA, context)
        ccurl_set_data_callback(handle, CURLOPT_READFUNCTION) { bytes, size, count, context in
            guard let context else { return ccurl_read_abort }
            let handle = Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
            let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
            return handle.body?.read(into: buffer) ?? ccurl_read_abort
        }
        ccurl_set_pointer(handle, CURLOPT_SEEKDATA, context)
        ccurl_set_seek_callback(handle) { context, offset, origin in
            guard let context, origin == SEEK_SET else { return CURL_SEEKFUNC_FAIL }
            let handle = Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
            return handle.body?.seek(to: Int64(offset)) ?? false ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
        }
    }

    private func makeForm(_ parts: [FormPart]) -> OpaquePointer? {
        guard let form = curl_mime_init(pointer) else { return nil }
        for part in parts {
            guard let field = curl_mime_addpart(form) else { continue }
            curl_mime_name(field, part.name)
            switch part.content {
            case .text(let text):
                let bytes = Array(text.utf8)
                bytes.withUnsafeBytes {
                    _ = curl_mime_data(field, $0.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
                }
            case .file(let path, let name, let type):
                curl_mime_filedata(field, path)
                curl_mime_filename(field, name)
                if let type { curl_mime_type(field, type) }
            }
        }
        return form
    }

    /// The number of body bytes that were sent.
    var bytesSent: Int64 {
        offset(CURLINFO_SIZE_UPLOAD_T)
    }

    /// Whether any part of the request was sent.
    var hasSentRequest: Bool {
        integer(CURLINFO_REQUEST_SIZE) > 0
    }
}
