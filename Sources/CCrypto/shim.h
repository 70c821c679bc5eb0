// OpenSSL's digests (libcrypto): SHA-256 of a finished episode, with the processor's own instructions.
#include <openssl/evp.h>
