// Package ports shares a machine's ports out among the tests of several processes: between choosing a free port and
// listening on it, another process might choose the same one.
package ports

import "io"

// Hold reserves the number of a port, of any address, against all others that ask here, in this process or another of
// the machine and network namespace. It says nothing about who listens there. The port is given back by Close, or when
// the process ends, and not before, even if nothing refers to what Hold returned. If somebody has it, Hold returns nil
// without an error. Only Linux reserves across processes: an abstract socket has the number in its name (unix(7));
// elsewhere each port is given to whoever asks.
func Hold(port int) (io.Closer, error) { return hold(port) }
