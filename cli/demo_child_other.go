//go:build !linux

package cli

import "syscall"

// childAttributes are those of any process where there are no others to be had.
func childAttributes() *syscall.SysProcAttr { return nil }
