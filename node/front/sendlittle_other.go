//go:build !linux

package front

import "net"

// sendLittle does nothing where the kernel cannot be told.
func sendLittle(net.Conn) {}
