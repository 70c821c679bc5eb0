// libcurl, and one typed wrapper for each argument type of its variadic functions. No logic.
// The C library's types belong to its module: see CLinux.h.
#pragma clang module import SwiftGlibc
#include <curl/curl.h>

static inline CURLcode ccurl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode ccurl_set_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode ccurl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode ccurl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode ccurl_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}
typedef size_t (*ccurl_data_callback)(char *bytes, size_t size, size_t count, void *context);
static inline CURLcode ccurl_set_data_callback(CURL *handle, CURLoption option, ccurl_data_callback callback) {
    return curl_easy_setopt(handle, option, callback);
}
typedef int (*ccurl_seek_callback)(void *context, curl_off_t offset, int origin);
static inline CURLcode ccurl_set_seek_callback(CURL *handle, ccurl_seek_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, callback);
}
static inline CURLcode ccurl_set_open_socket_callback(CURL *handle, curl_opensocket_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, callback);
}
/// Returns the bytes of the `sockaddr`; `addrlen` is their number.
static inline const void *ccurl_socket_address(const struct curl_sockaddr *address) { return &address->addr; }
static inline CURLcode ccurl_set_prerequest_callback(CURL *handle, curl_prereq_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, callback);
}
static inline CURLcode ccurl_set_form(CURL *handle, curl_mime *form) {
    return curl_easy_setopt(handle, CURLOPT_MIMEPOST, form);
}
static inline CURLcode ccurl_get_offset(CURL *handle, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(handle, info, value);
}
static inline CURLcode ccurl_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}
static inline CURLcode ccurl_get_string(CURL *handle, CURLINFO info, char **value) {
    return curl_easy_getinfo(handle, info, value);
}
static inline CURLMcode ccurl_multi_set_long(CURLM *handle, CURLMoption option, long value) {
    return curl_multi_setopt(handle, option, value);
}

static inline CURLSHcode ccurl_share_set_data(CURLSH *share, curl_lock_data data) {
    return curl_share_setopt(share, CURLSHOPT_SHARE, data);
}

/// Restricts requests and redirects to http and https. The options are text since libcurl 7.85, bit masks before.
static inline CURLcode ccurl_set_web_only(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
    CURLcode code = curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
    CURLcode code = curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    return code != CURLE_OK
        ? code : curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

/// Sends Basic credentials with the first request. CURLAUTH_BASIC contains a cast, so Swift does not import it.
static inline CURLcode ccurl_set_auth_basic(CURL *handle) {
    return curl_easy_setopt(handle, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
}

/// Returns the result in a finished transfer's message; not every Swift version imports the union's member.
static inline CURLcode ccurl_message_result(const CURLMsg *message) { return message->data.result; }

/// Special return values of the write callback, as size_t.
static const size_t ccurl_write_pause = CURL_WRITEFUNC_PAUSE;
static const size_t ccurl_write_error = 0xFFFFFFFF;
/// Special return values of the read callback, as size_t.
static const size_t ccurl_read_abort = CURL_READFUNC_ABORT;
