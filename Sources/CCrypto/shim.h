// OpenSSL's libcrypto: digests, which use the processor's SHA instructions, and texts of the errors of certificates.
// The C library's types belong to its module: see CLinux.h.
#pragma clang module import SwiftGlibc
#include <openssl/evp.h>
#include <openssl/x509.h>
