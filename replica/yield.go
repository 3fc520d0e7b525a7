package replica

import (
	"time"

	"holdfast/catalog"
)

// readerLasts is for how long after a read a reader here is thought to be waiting for the next bytes.
const readerLasts = 50 * time.Millisecond

// Busy reports whether readers or other nodes read here just now, or copies are being made: what is less urgent, such
// as a batch, lets them go first.
func (r *Replica) Busy() bool {
	if len(r.bulk) > 0 || len(r.reads) > 0 || len(r.hashes) > 0 {
		return true
	}
	if time.Now().UnixNano()-r.lastRead.Load() < int64(readerLasts) {
		return true
	}
	p := r.puller.pulls
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.active) > 0
}

// Doubt has this node's copy of a file read again: somebody has read other bytes than the file's. What is found is
// reported to the catalog.
func (r *server) Doubt(name catalog.FileName) {
	f, err := r.entry(name)
	if err != nil || f.Removed != 0 {
		return
	}
	r.log.Error("a copy here was read, and is not the file", "file", name)
	r.checks.owe(r.cfg.Self, heldAs(f), forDamage)
}
