package raft

import (
	"os"
	"testing"

	"holdfast/internal/seed"
)

func TestMain(m *testing.M) { os.Exit(seed.Main(m)) }
