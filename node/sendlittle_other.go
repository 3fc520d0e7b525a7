//go:build !linux

package node

import "net"

// sendLittle does nothing where the kernel cannot be told.
func sendLittle(net.Conn) {}
