// Package ports shares a machine's ports out among the tests of several processes: between choosing a free port and
// listening on it, another process might choose the same one.
package ports

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"syscall"
)

// Hold reserves the number of a port, of any address, against all others that ask here, in this process or another of
// the machine and network namespace. It says nothing about who listens there. The port is given back by Close, or when
// the process ends. If somebody has it, Hold returns nil without an error. Only Linux reserves across processes: an
// abstract socket has the number in its name (unix(7)); elsewhere each port is given to whoever asks.
func Hold(port int) (io.Closer, error) {
	if runtime.GOOS != "linux" {
		return io.NopCloser(nil), nil
	}
	l, err := net.Listen("unix", fmt.Sprintf("@holdfast-test-port-%d", port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reserve port %d: %w", port, err)
	}
	return l, nil
}
