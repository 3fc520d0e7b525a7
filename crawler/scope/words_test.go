package scope

import (
	"fmt"
	"strings"
	"testing"
)

// A page that is long brings something new as a short one does, and nothing when it comes again.
func TestLongPagesBringSomethingNew(t *testing.T) {
	page := func(number, words int) []uint64 {
		var text strings.Builder
		for i := range words {
			for n := number*1_000_000 + i + 1; n > 0; n /= 26 {
				text.WriteByte(byte('a' + n%26))
			}
			text.WriteByte(' ')
		}
		return passages([]byte(text.String()))
	}
	for _, words := range []int{3, 300, 3000, 10_000, 43_000} {
		t.Run(fmt.Sprint(words), func(t *testing.T) {
			f := &readBefore{}
			for number := range 20 {
				read := page(number, words)
				if !f.takeIn(read) {
					t.Fatalf("page %d brought nothing new", number)
				}
				if f.takeIn(read) {
					t.Fatalf("page %d brought something new again", number)
				}
			}
		})
	}
}
