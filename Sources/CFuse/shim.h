// libfuse's low-level API, the kernel's own declaration of the protocol's structures, and the calls that this binding
// needs and Swift cannot see because they are variadic or GNU extensions. No logic.
#ifndef CFUSE_SHIM_H
#define CFUSE_SHIM_H

// Not _GNU_SOURCE: it would give fd_set another shape than other modules see.
#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/// prctl(PR_SET_NAME): the calling thread's name, of which 15 bytes are kept.
static inline int cfuse_set_thread_name(const char *name) { return prctl(PR_SET_NAME, name, 0, 0, 0); }

/// memfd_create(2) with MFD_CLOEXEC.
static inline int cfuse_memory_file(const char *name) { return (int)syscall(SYS_memfd_create, name, 1U); }

/// dup3(2).
static inline int cfuse_dup3(int from, int to, int flags) { return (int)syscall(SYS_dup3, from, to, flags); }

#endif
