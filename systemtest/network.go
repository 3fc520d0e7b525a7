package systemtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Network is a switch with a network namespace per host. The switch stands in a namespace of its own, so that nothing
// passes between the hosts and this machine. It needs root. Close removes all of it.
type Network struct {
	name  string
	hosts int
}

// NewNetwork makes a network of n hosts, numbered from 1. What was made is removed when it fails.
func NewNetwork(ctx context.Context, n int) (*Network, error) {
	w := &Network{name: fmt.Sprintf("hft%x-", rand.Uint32())}
	lines := [][]string{
		{"netns", "add", w.bridge()},
		{"-n", w.bridge(), "link", "add", "name", "sw", "type", "bridge"},
		{"-n", w.bridge(), "link", "set", "sw", "up"},
	}
	for i := 1; i <= n; i++ {
		host, port := w.Host(i), fmt.Sprintf("port%d", i)
		lines = append(lines,
			[]string{"netns", "add", host},
			[]string{"-n", w.bridge(), "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", host},
			[]string{"-n", w.bridge(), "link", "set", port, "master", "sw", "up"},
			[]string{"-n", host, "address", "add", w.IP(i) + "/24", "dev", "eth0"},
			[]string{"-n", host, "link", "set", "eth0", "up"},
			[]string{"-n", host, "link", "set", "lo", "up"})
	}
	w.hosts = n
	for _, line := range lines {
		if err := ip(ctx, line...); err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	return w, nil
}

func ip(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, lastLines(out, 2))
	}
	return nil
}

func (w *Network) bridge() string { return w.name + "switch" }

// Host returns the name of a host's namespace.
func (w *Network) Host(i int) string { return fmt.Sprintf("%s%d", w.name, i) }

// IP returns a host's address.
func (w *Network) IP(i int) string { return fmt.Sprintf("10.99.7.%d", i) }

// Enter returns the words that run a command on a host.
func (w *Network) Enter(i int) []string { return []string{"ip", "netns", "exec", w.Host(i)} }

// Cut takes a host off the switch: what it sends and what is sent to it is lost without a sign.
func (w *Network) Cut(ctx context.Context, i int) error {
	return ip(ctx, "-n", w.bridge(), "link", "set", fmt.Sprintf("port%d", i), "nomaster")
}

// Heal plugs a host in again.
func (w *Network) Heal(ctx context.Context, i int) error {
	return ip(ctx, "-n", w.bridge(), "link", "set", fmt.Sprintf("port%d", i), "master", "sw")
}

// nowhere is the address of a network card that nobody has.
const nowhere = "02:00:00:00:00:01"

// Deafen loses what host from sends to host to, without a sign.
func (w *Network) Deafen(ctx context.Context, from, to int) error {
	return ip(ctx, "-n", w.Host(from), "neigh", "replace", w.IP(to), "lladdr", nowhere, "dev", "eth0", "nud",
		"permanent")
}

// Hear ends what Deafen began.
func (w *Network) Hear(ctx context.Context, from, to int) error {
	return ip(ctx, "-n", w.Host(from), "neigh", "delete", w.IP(to), "dev", "eth0")
}

// Close removes the namespaces, and with them their devices.
func (w *Network) Close() error {
	var err error
	for _, name := range append([]string{w.bridge()}, w.names()...) {
		if _, missing := os.Stat("/run/netns/" + name); missing == nil {
			err = errors.Join(err, ip(context.Background(), "netns", "delete", name))
		}
	}
	return err
}

func (w *Network) names() (names []string) {
	for i := 1; i <= w.hosts; i++ {
		names = append(names, w.Host(i))
	}
	return names
}

// Listen opens a TCP port on a host for this process.
func (w *Network) Listen(i, port int) (net.Listener, error) { return w.listen(i, w.IP(i), port) }

// ListenLocal opens a TCP port on a host's loopback address for this process.
func (w *Network) ListenLocal(i, port int) (net.Listener, error) {
	return w.listen(i, "127.0.0.1", port)
}

func (w *Network) listen(i int, address string, port int) (l net.Listener, err error) {
	inside := w.within(i, func() { l, err = net.Listen("tcp", fmt.Sprintf("%s:%d", address, port)) })
	return l, errors.Join(inside, err)
}

// Dial returns what connects as a program on the host would; the address is to hold a number rather than a name.
func (w *Network) Dial(i int) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (c net.Conn, err error) {
		inside := w.within(i, func() { c, err = (&net.Dialer{}).DialContext(ctx, network, address) })
		return c, errors.Join(inside, err)
	}
}

// within runs do on a thread that is on the host meanwhile. The thread lives on: nodes that it started die with it.
func (w *Network) within(i int, do func()) error {
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer func() { _ = home.Close() }()
	host, err := os.Open("/run/netns/" + w.Host(i))
	if err == nil {
		defer func() { _ = host.Close() }()
		err = unix.Setns(int(host.Fd()), unix.CLONE_NEWNET)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter %s: %w", w.Host(i), err)
	}
	do()
	if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("leave %s: %w", w.Host(i), err) // the thread stays locked, and ends with its goroutine
	}
	runtime.UnlockOSThread()
	return nil
}
