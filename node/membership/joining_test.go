package membership

import (
	"errors"
	"fmt"
	"testing"

	"holdfast/peer"
)

// What one member answers to a request to join counts, whatever trouble another one has that was asked before it.
func TestOneAnswerCounts(t *testing.T) {
	t.Parallel()
	trouble := fmt.Errorf("join at a: %w", &peer.RemoteError{Code: peer.CodeInternal, Message: "no quorum"})
	soon := fmt.Errorf("join at b: %w", &peer.RemoteError{Code: codeSoon, Message: "try again"})
	silent := errors.New("join at c: no answer")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, ""}, {silent, ""}, {trouble, ""}, {errors.Join(trouble, silent), ""}, {soon, codeSoon},
		{errors.Join(trouble, soon), codeSoon}, {errors.Join(silent, trouble, soon), codeSoon},
		{fmt.Errorf("again: %w", errors.Join(soon, trouble)), codeSoon},
	} {
		got := ""
		if r := refusal(tt.err); r != nil {
			got = r.Code
		}
		if got != tt.want || errors.Is(tt.err, &peer.RemoteError{Code: codeSoon}) != (tt.want == codeSoon) {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
}
