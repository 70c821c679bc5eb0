// OpenSSL's digests (libcrypto): SHA-256 of a finished episode, with the processor's own instructions.
// The C library's types belong to its module: see CLinux.h.
#pragma clang module import SwiftGlibc
#include <openssl/evp.h>
