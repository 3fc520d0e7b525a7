package frontier

import (
	"strings"

	"github.com/dgraph-io/badger/v4"
)

// Policy is what holds for one queue.
type Policy struct {
	Valence       int   // URIs in flight at a time; 0 is one
	SessionBudget int64 // cost after which the queue makes room for one that waits; 0: no limit
	TotalBudget   int64 // cost after which the queue is retired; 0: no limit
	Precedence    int   // 0 to 100; lower comes first among queues that wait
}

// ask brings a queue's policy up to date: as it is of the site whose turn it is, if the policy depends on that.
func (f *roster) ask(q *queue) {
	if q.asked == f.policies && !q.moved() {
		return
	}
	q.asked, q.site = f.policies, ""
	q.policy = f.cfg.Policy(q.name, func() string {
		uri := f.sample(q)
		if q.site = siteOf(uri); uri == "" {
			q.asked = 0 // to be asked again when one is known
		}
		return uri
	})
	q.policy.Precedence = min(max(q.policy.Precedence, 0), worstPrecedence)
	if q.ownSession {
		q.policy.SessionBudget = q.sessionBudget
	}
	if q.ownTotal {
		q.policy.TotalBudget = q.totalBudget
	}
}

// moved reports whether it is another site's turn than the one that the policy is for.
func (q *queue) moved() bool {
	u := q.first()
	return u != nil && q.site != "" && !strings.HasPrefix(u.URL, q.site)
}

// first is the next URI in memory that is no prerequisite, or nil.
func (q *queue) first() *URI {
	for _, u := range q.head {
		if u.Priority != Prerequisite {
			return u
		}
	}
	return nil
}

// sample is a URI of the queue that is no prerequisite, the next if that is in memory, or nothing.
func (f *roster) sample(q *queue) string {
	if u := q.first(); u != nil {
		return u.URL
	}
	if q.some != "" {
		return q.some
	}
	opts := badger.DefaultIteratorOptions
	opts.PrefetchSize = 1
	opts.Prefix = []byte(queuePrefix(q.name))
	it := f.view.NewIterator(opts)
	defer it.Close()
	it.Seek([]byte(queueKey(q.name, Prerequisite+1, 0)))
	if !it.Valid() {
		return ""
	}
	value, err := it.Item().ValueCopy(nil)
	if err != nil {
		return "" // to be read again when the queue gives its URIs out
	}
	u, err := decodeURI(it.Item().Key(), value)
	if err != nil {
		return ""
	}
	return u.URL
}

// siteOf is how URLs of the same site as url begin: up to the slash after host and port; "" where it has no host.
func siteOf(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return ""
	}
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return url[:len(scheme)+3+i+1]
	}
	return url
}
