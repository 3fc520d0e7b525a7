//go:build e2e

package systemtest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata"

	"holdfast/node"
	"holdfast/node/config"
)

// envHasty makes the program of the tests run a node in place of them. It says how the node's harvests see time.
const envHasty = "HOLDFAST_HASTY"

// hasty is a clock for the dates of harvests. It begins some time before the machine's clock, and runs faster until it
// has caught up with it. All else goes by the machine's clock.
type hasty struct {
	began  time.Time
	back   time.Duration
	factor int64
}

// at is what the clock shows when the machine's clock shows now.
func (h hasty) at(now time.Time) time.Time {
	fast := h.began.Add(-h.back).Add(now.Sub(h.began) * time.Duration(h.factor))
	if fast.After(now) {
		return now
	}
	return fast
}

// runner is the command line that runs a node with the clock.
func (h hasty) runner() ([]string, error) {
	self, err := os.Executable()
	return []string{"env", fmt.Sprintf("%s=%d %d %d", envHasty, h.began.UnixMilli(), h.back.Milliseconds(), h.factor),
		self}, err
}

// beHasty is the command start of the program, with such a clock.
func beHasty(what string) error {
	var began, back int64
	var clock hasty
	if _, err := fmt.Sscan(what, &began, &back, &clock.factor); err != nil {
		return fmt.Errorf("%s=%s: %w", envHasty, what, err)
	}
	clock.began, clock.back = time.UnixMilli(began), time.Duration(back)*time.Millisecond
	if len(os.Args) != 6 || os.Args[1] != "start" {
		return fmt.Errorf("a node was to be started, not %v", os.Args[1:])
	}
	file, err := config.Load(os.Args[3])
	if err != nil {
		return err
	}
	cfg, err := file.Node(os.Args[5])
	if err != nil {
		return err
	}
	cfg.Dates = clock.at
	syscall.Umask(0o077)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	n, err := node.New(cfg, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	return n.Run(ctx)
}
