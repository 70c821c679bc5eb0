/* PCRE2, Perl-compatible regular expressions. The functions for UTF-8 have the suffix _8. */
/* The C library's types belong to its module: see CLinux.h. */
#pragma clang module import SwiftGlibc
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
