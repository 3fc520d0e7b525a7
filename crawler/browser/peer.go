package browser

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// errStranger reports a connection of another user of this machine.
var errStranger = errors.New("another user's connection")

// known tells whose connection on loopback it is, by the kernel's table: errStranger unless it is the user's that the
// browser runs as, or our own. Where the table cannot be read nothing is refused.
func known(remote, local net.Addr) error {
	from, to, ok := addresses(remote, local)
	if !ok {
		return nil
	}
	f, err := os.Open("/proc/net/tcp")
	if err != nil {
		return nil
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) < 8 || words[1] != from || words[2] != to {
			continue
		}
		uid, err := strconv.Atoi(words[7])
		if err == nil && uid != os.Getuid() && (os.Getuid() != 0 || uid != nobody) {
			return fmt.Errorf("%w: user %d", errStranger, uid)
		}
		return nil
	}
	return nil
}

// addresses writes both ends as the kernel does.
func addresses(remote, local net.Addr) (from, to string, ok bool) {
	r, ok1 := remote.(*net.TCPAddr)
	l, ok2 := local.(*net.TCPAddr)
	if !ok1 || !ok2 || r.IP.To4() == nil || l.IP.To4() == nil {
		return "", "", false
	}
	return kernelAddress(r), kernelAddress(l), true
}

func kernelAddress(a *net.TCPAddr) string {
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(a.IP.To4()), a.Port)
}
