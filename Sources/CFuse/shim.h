// libfuse's low-level API, the kernel's declarations of the protocol's structures, and calls that Swift cannot import
// because they are variadic or GNU extensions. No logic.
#ifndef CFUSE_SHIM_H
#define CFUSE_SHIM_H

// Not _GNU_SOURCE: it changes the layout of fd_set, which other modules use too.
#define FUSE_USE_VERSION 314
// The C library's types belong to its module: see CLinux.h.
#pragma clang module import SwiftGlibc
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/// memfd_create(2) with MFD_CLOEXEC.
static inline int cfuse_memory_file(const char *name) { return (int)syscall(SYS_memfd_create, name, 1U); }

/// dup3(2).
static inline int cfuse_dup3(int from, int to, int flags) { return (int)syscall(SYS_dup3, from, to, flags); }

// Passthrough was added in protocol 7.40 (Linux 6.9), and the installed headers may be older: the numbers and structures
// below are copies from that version's linux/fuse.h, with other names.

/// FUSE_PASSTHROUGH, bit 37 of INIT's flags: bit 5 of their second word.
#define CFUSE_PASSTHROUGH_FLAG2 (1U << 5)
/// FUSE_INIT_EXT: the second word of flags is valid.
#define CFUSE_INIT_EXT (1U << 30)
/// FOPEN_* flags of a reply to OPEN.
#define CFUSE_FOPEN_DIRECT_IO (1U << 0)
#define CFUSE_FOPEN_NOFLUSH (1U << 5)
#define CFUSE_FOPEN_PASSTHROUGH (1U << 7)

/// `struct fuse_open_out` with the backing id in the former padding.
struct cfuse_open_answer {
    uint64_t fh;
    uint32_t open_flags;
    int32_t backing_id;
};

/// `struct fuse_backing_map`.
struct cfuse_backing_map {
    int32_t fd;
    uint32_t flags;
    uint64_t padding;
};

/// FUSE_DEV_IOC_BACKING_OPEN on /dev/fuse: registers the open file `fd` for passthrough. Returns its id, 1 or more, or -1
/// with errno. 229 is FUSE_DEV_IOC_MAGIC.
static inline int cfuse_backing_open(int device, int fd) {
    struct cfuse_backing_map map = {.fd = fd, .flags = 0, .padding = 0};
    return ioctl(device, _IOW(229, 1, struct cfuse_backing_map), &map);
}

/// FUSE_DEV_IOC_BACKING_CLOSE: unregisters the id. Files opened with it remain usable.
static inline int cfuse_backing_close(int device, int32_t id) {
    uint32_t number = (uint32_t)id;
    return ioctl(device, _IOW(229, 2, uint32_t), &number);
}

/// `max_stack_depth` of the INIT reply: the word after `flags2`.
static inline void cfuse_set_stack_depth(struct fuse_init_out *answer, uint32_t depth) {
    memcpy((char *)answer + offsetof(struct fuse_init_out, flags2) + sizeof answer->flags2, &depth, sizeof depth);
}

/// Returns statfs(2)'s f_type of the filesystem that contains `path`; 0 on failure.
static inline unsigned long cfuse_filesystem_type(const char *path) {
    struct statfs status;
    return statfs(path, &status) == 0 ? (unsigned long)status.f_type : 0;
}

#endif
