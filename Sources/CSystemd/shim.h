/* sd-bus of libsystemd, the D-Bus client. Its functions with a variable number of arguments are not visible from Swift;
   messages are written and read container by container. */
#include <systemd/sd-bus.h>

/* struct sockaddr_nl and NETLINK_KOBJECT_UEVENT, netlink(7). */
#include <linux/netlink.h>
