package figures

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// CPU returns the seconds that all CPUs together have worked for this process.
func CPU() (float64, error) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, fmt.Errorf("ask the CPU time of this process: %w", err)
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(used.Utime) + seconds(used.Stime), nil
}

// Memory returns the bytes of memory that this process has in use, as the system counts them (RSS).
func Memory() (float64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("ask the memory of this process: %w", err)
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, errors.New("ask the memory of this process: statm is empty")
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return float64(pages) * float64(os.Getpagesize()), err
}
