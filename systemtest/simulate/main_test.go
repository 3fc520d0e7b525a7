package main

import (
	"strings"
	"testing"
)

func TestBadArguments(t *testing.T) {
	for _, tt := range []struct {
		seeds                     int
		worlds, budgets, policies string
		want                      string
	}{
		{0, "mixed", "tight", "adaptive", "-seeds is 0"},
		{1, "nosuch", "tight", "adaptive", `-worlds has "nosuch"`},
		{1, "", "tight", "adaptive", `-worlds has ""`},
		{1, "mixed", "vast", "adaptive", `-budgets has "vast"`},
		{1, "mixed", "tight", "adaptive,", `-policies has ""`},
		{1, "mixed", "tight", "nosuch", `-policies has "nosuch"`},
	} {
		if err := tables(tt.seeds, 1, tt.worlds, tt.budgets, tt.policies); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: refused with %v", tt, err)
		}
	}
}
