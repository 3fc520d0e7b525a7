//go:build !linux

package cli

import "syscall"

// childAttributes are the defaults, on systems that have no others.
func childAttributes() *syscall.SysProcAttr { return nil }
