package ports

import (
	"errors"
	"fmt"
	"io"
	"syscall"
)

// socket is a socket's number. Unlike what package net returns, it is not closed when nothing refers to it any more.
type socket int

func (s socket) Close() error { return syscall.Close(int(s)) }

// hold binds an abstract socket whose name has the number in it.
func hold(port int) (io.Closer, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("reserve port %d: open a socket: %w", port, err)
	}
	err = syscall.Bind(fd, &syscall.SockaddrUnix{Name: fmt.Sprintf("@holdfast-test-port-%d", port)})
	if err == nil {
		return socket(fd), nil
	}
	_ = syscall.Close(fd)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, nil
	}
	return nil, fmt.Errorf("reserve port %d: %w", port, err)
}
