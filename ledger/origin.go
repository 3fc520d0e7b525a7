package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

// String returns the origin as lists write it behind the size, with a blank before it; nothing if it is not known.
func (o Origin) String() string {
	if o == (Origin{}) {
		return ""
	}
	return fmt.Sprintf(" %s %s %d %d", formatTime(time.UnixMilli(o.Added)), o.Collection, o.Job, o.Attempt)
}

// parseOrigin reads what String wrote, without the blank.
func parseOrigin(text string) (o Origin, err error) {
	words := strings.Split(text, " ")
	if len(words) != 4 {
		return o, fmt.Errorf("%q is not time, collection, job and attempt", clip(text))
	}
	at, err := parseTime(words[0])
	job, err2 := parseCount(words[2])
	attempt, err3 := parseCount(words[3])
	if err := cmp.Or(err, err2, err3, checkCollection(words[1])); err != nil {
		return o, err
	}
	o = Origin{Added: at.UnixMilli(), Collection: words[1], Job: uint64(job), Attempt: int(attempt)}
	if o == (Origin{}) {
		return o, errors.New("an origin that says nothing")
	}
	return o, nil
}

// checkCollection refuses what cannot be the name of a collection.
func checkCollection(name string) error {
	if len(name) == 0 || len(name) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"+
		"0123456789._-") != "" {
		return fmt.Errorf("%q is not the name of a collection", clip(name))
	}
	return nil
}
