/* sd-bus of libsystemd, the D-Bus client. Its functions with a variable number of arguments are not visible from Swift;
   messages are written and read container by container. And sd-daemon, the sockets passed by a service manager. */
/* The C library's types belong to its module: see CLinux.h. */
#pragma clang module import SwiftGlibc
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
