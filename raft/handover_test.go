package raft

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestHandoverPausesAfterAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := handover{pause: 20 * time.Second}
		down := errors.New("nobody answers")
		tries := 0
		fail := func() error { tries++; return down }
		if err := h.try(fail); !errors.Is(err, down) {
			t.Errorf("got %v", err)
		}
		<-time.After(19 * time.Second)
		if err := h.try(fail); err == nil || errors.Is(err, down) || tries != 1 {
			t.Errorf("%d tries, %v", tries, err)
		}
		<-time.After(time.Second)
		for range 2 {
			if err := h.try(func() error { tries++; return nil }); err != nil {
				t.Error(err)
			}
		}
		if tries != 3 {
			t.Errorf("%d tries", tries)
		}
	})
}
