// Package pace keeps the jobs of all nodes together polite to each host: at any time one job at most asks a host.
//
// Each host has a home, one of the living nodes, found by rendezvous hashing. A job leases the host from its home,
// renews the lease in the background and fetches without asking anybody; that is all while no other job wants the host.
// When one does, the lease ends with the job's turn, and goes to the other once the host has rested. A Home grants; a
// Pacer asks, for all jobs of its node. No clocks are compared: all that is sent is a length of time.
package pace

import (
	"hash/fnv"
	"time"
)

// The times of leases.
const (
	Length  = 5 * time.Second  // a lease lasts this long after the request for it, unless it is renewed
	renewal = 2 * time.Second  // the pause between renewals
	Turn    = 15 * time.Second // a job keeps a host this long before it makes room for a waiting job
	// After a change of the living nodes a new home of a host grants nothing but what is held already: for a lease that
	// the old one gave just before it heard of the change, and the time until it heard.
	settling = 2 * Length
)

// Ask is what one job wants of one host.
type Ask struct {
	Host   string        `json:"host"`
	Holder string        `json:"holder"`           // the job, and the attempt
	Held   bool          `json:"held,omitempty"`   // it has the lease and keeps it
	Return bool          `json:"return,omitempty"` // it gives the lease back
	Rest   time.Duration `json:"rest,omitempty"`   // with Return: nobody may ask the host for this long
}

// Answer is the home's answer to an Ask.
type Answer struct {
	Granted  bool          `json:"granted,omitempty"`
	For      time.Duration `json:"for,omitempty"`       // with Granted: since the asking
	GiveBack bool          `json:"give_back,omitempty"` // others wait and the turn is over
	Wait     time.Duration `json:"wait,omitempty"`      // without Granted: when asking again makes sense
	Moved    bool          `json:"moved,omitempty"`     // another node is the host's home
}

// HomeOf is the node that a host's leases come from: the one of the living with the highest hash together with the
// host. All nodes that agree on who lives agree on it. It is "" if none lives.
func HomeOf(host string, living []string) string {
	best, highest := "", uint64(0)
	for _, node := range living {
		h := fnv.New64a()
		h.Write([]byte(node))
		h.Write([]byte{0})
		h.Write([]byte(host))
		// FNV's high bits are weak for short texts: mix them once more (the finalizer of MurmurHash3).
		n := h.Sum64()
		n ^= n >> 33
		n *= 0xff51afd7ed558ccd
		n ^= n >> 33
		n *= 0xc4ceb9fe1a85ec53
		n ^= n >> 33
		if best == "" || n > highest || n == highest && node < best {
			best, highest = node, n
		}
	}
	return best
}
