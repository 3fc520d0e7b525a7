package session

import (
	"strings"
	"sync"
	"time"
)

// How many wrong passwords may be given in a row, and after how long one more is allowed again: of an account, of an
// account from one address, and from one address whatever the account. So somebody who guesses keeps others out of an
// account only by guessing at it without end.
const (
	triesOfAccount, gapOfAccount = 50, time.Minute
	triesOfPair, gapOfPair       = 5, time.Minute
	triesOfAddress, gapOfAddress = 30, 10 * time.Second
)

// maxTries bounds what is remembered of addresses. Of accounts there are no more than people.
const maxTries = 20_000

// tries slows down who gives wrong passwords, on this node. It is safe for concurrent use.
type tries struct {
	mu        sync.Mutex
	accounts  buckets
	addresses buckets
}

// buckets say how many tries are left, by key. What is not there is full.
type buckets map[string]bucket

type bucket struct {
	left float64
	at   time.Time // when it was so
}

// limit is a bucket that a try takes from.
type limit struct {
	in   buckets
	key  string
	most float64
	gap  time.Duration
}

// nobody begins an account that no person has.
const nobody = "?"

// limits are those of a try. What is remembered of accounts that nobody has is bounded with the addresses.
func (t *tries) limits(account, from string) []limit {
	if t.accounts == nil {
		t.accounts, t.addresses = buckets{}, buckets{}
	}
	all := []limit{{t.addresses, from, triesOfAddress, gapOfAddress}}
	accounts := t.accounts
	if strings.HasPrefix(account, nobody) {
		accounts = t.addresses
	}
	if account != "" {
		all = append(all, limit{accounts, account, triesOfAccount, gapOfAccount},
			limit{t.addresses, account + " " + from, triesOfPair, gapOfPair})
	}
	return all
}

// left is how much is left at that time.
func (l *limit) left(now time.Time) float64 {
	b, there := l.in[l.key]
	if !there {
		return l.most
	}
	return min(l.most, b.left+max(0, now.Sub(b.at).Seconds())/l.gap.Seconds())
}

// allow takes one try, and reports false when there is none left.
func (t *tries) allow(now time.Time, account, from string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.limits(account, from)
	for _, l := range all {
		if l.left(now) < 1 {
			return false
		}
	}
	t.forget(now)
	for _, l := range all {
		l.in[l.key] = bucket{l.left(now) - 1, now}
	}
	return true
}

// right gives back what a right password took.
func (t *tries) right(account, from string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.limits(account, from) {
		if b, there := l.in[l.key]; there {
			b.left = min(l.most, b.left+1)
			l.in[l.key] = b
		}
	}
}

// forget makes room for addresses: what is full again by now goes first, then any. A tenth goes at once, so that a
// flood of addresses does not make each try slow.
func (t *tries) forget(now time.Time) {
	if len(t.addresses) < maxTries {
		return
	}
	const full = max(triesOfAddress*gapOfAddress, triesOfPair*gapOfPair)
	for key, b := range t.addresses {
		if now.Sub(b.at) > full {
			delete(t.addresses, key)
		}
	}
	for key := range t.addresses {
		if len(t.addresses) <= maxTries*9/10 {
			return
		}
		delete(t.addresses, key)
	}
}
