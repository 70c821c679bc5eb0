// OpenSSL's digests (libcrypto), which use the processor's SHA instructions.
// The C library's types belong to its module: see CLinux.h.
#pragma clang module import SwiftGlibc
#include <openssl/evp.h>
