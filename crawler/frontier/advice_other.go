//go:build !linux

package frontier

// adviseTables is for Linux only.
func adviseTables(string) {}
