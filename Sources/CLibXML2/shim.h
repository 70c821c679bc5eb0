// The C library's types belong to its module: see CLinux.h.
#pragma clang module import SwiftGlibc

/* Debian's libxml2 is built with ICU, so its headers include ICU's. Foundation has its own copies of ICU's headers, and
   the two definitions of one enum do not compile together. Without ICU only the last members of
   xmlCharEncodingHandler differ, which podfs does not use. */
#include <libxml/xmlversion.h>
#undef LIBXML_ICU_ENABLED

#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/HTMLparser.h>
#include <libxml/tree.h>

/* xmlFree is a mutable global function pointer, which Swift 6 refuses to read. */
static inline void podfs_xml_free(void *memory) {
    xmlFree(memory);
}
