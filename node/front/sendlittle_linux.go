package front

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// unsentMost is how much of an answer the kernel takes for a connection before the network does. Without a bound it
// takes megabytes for each reader who does not read.
const unsentMost = 16 << 10

// sendLittle bounds the memory that the kernel spends on answers that are not read. What is on its way is not bounded:
// a fast reader far away is served as fast as without.
func sendLittle(c net.Conn) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { // a kernel that cannot do it only takes more memory
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, unsentMost)
	})
}
