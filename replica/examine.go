package replica

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/files"
)

// Outcome is how a challenge ended that was not answered rightly.
type Outcome string

// The outcomes.
const (
	AnswerWrong     Outcome = "wrong"     // the bytes there are others, or the node does not have them
	AnswerRefused   Outcome = "refused"   // the node gave a reason instead of an answer
	AnswerLate      Outcome = "late"      // it gave no answer in time
	AnswerUnreached Outcome = "unreached" // it could not be asked
	// AnswerUnread: this node could not read its own bytes, or they are wrong. Nothing was compared.
	AnswerUnread Outcome = "unread"
)

// Unanswered is a challenge that was not answered rightly, the last time that it was asked.
type Unanswered struct {
	Name    catalog.FileName    `json:"name"`
	Replica catalog.ReplicaName `json:"replica"`
	Node    catalog.NodeID      `json:"node,omitempty"`
	Outcome Outcome             `json:"outcome"`
	Why     string              `json:"why,omitempty"`
	At      time.Time           `json:"at,omitzero"`      // when it was asked first
	Tries   int                 `json:"tries,omitempty"`  // how often it was asked again
	Next    time.Time           `json:"next,omitzero"`    // when it is asked again; zero: never
	Settled time.Time           `json:"settled,omitzero"` // when it was answered rightly after all, or came to nothing
	Moot    bool                `json:"moot,omitempty"`   // it came to nothing: nobody is to ask for it any more
}

// How many challenges a node answers at once, how long an answer may take in all, and how many bytes a second it is to
// be read at least.
const (
	challengesAtOnce = 2
	answerLeast      = 2 * time.Minute
	answerPace       = 512 << 10
	// lateInARow is after how many late answers of a node an audit asks it no more: one that hangs would hold up this
	// audit, and all that are due behind it, by minutes for each file.
	lateInARow = 3
	// unreadyTries is how often a node is asked that is not ready, with growing pauses of seconds.
	unreadyTries = 4
)

// target is a copy that this node is to challenge.
type target struct {
	file    catalog.File
	replica catalog.ReplicaName
	node    catalog.NodeID // the holder of its shard; empty if there is none
	since   catalog.Time   // of the copy's state
	good    bool           // the catalog counts on it
	own     bool           // and on this node's copy
}

// targets returns the copies of the file that this node is to challenge by the draw, whatever their state.
func (r *auditor) targets(v catalog.View, draw files.Draw, only catalog.ReplicaName, f catalog.File) ([]target, error) {
	if f.Removed != 0 || f.Lost != 0 {
		return nil, nil
	}
	var out []target
	own, err := r.isGood(v, f)
	for i := range f.Copies {
		c := &f.Copies[i]
		if c.Surplus || c.Replica == r.cfg.Replica || only != "" && c.Replica != only {
			continue
		}
		who, err := v.Examiner(draw, c.Replica, f.Name.Shard(), f.Collection)
		if err != nil {
			return nil, err
		}
		if who != r.cfg.Self {
			continue
		}
		p, err := v.Placement(c.Replica, f.Name.Shard())
		if err != nil {
			return nil, err
		}
		out = append(out, target{f, c.Replica, p.Holder, c.Since, c.Good(), own})
	}
	return out, err
}

// errDraw reports an audit whose draw does not hold any more: nobody would answer.
var errDraw = fmt.Errorf("%w: another draw decides who challenges whom by now", errShard)

// drawOf returns the draw of that number.
func drawOf(v catalog.View, number uint64) (files.Draw, error) {
	draws, err := v.Draws()
	if err != nil {
		return files.Draw{}, err
	}
	draw, ok := draws.Numbered(number)
	if !ok {
		return draw, errDraw
	}
	return draw, nil
}

// sample returns how many of n copies are challenged.
func (one *Audit) sample(n int64) int64 {
	if one.Share <= 0 || one.Share >= 1 || n == 0 {
		return n
	}
	return max(1, int64(math.Ceil(one.Share*float64(n))))
}

// examining is the challenges of one shard.
type examining struct {
	*auditor
	audit  *Audit
	shard  catalog.Shard
	draw   files.Draw
	silent map[catalog.NodeID]error // nodes that could not be reached
}

// examineShard challenges the copies of the shard that this node is to examine: all that are in the scope, or a sample.
func (r *auditor) examineShard(ctx context.Context, one *Audit, shard catalog.Shard) error {
	r.audits.update(func() {
		if one.Pass == nil || one.Pass.Shard != shard {
			one.Pass = &Pass{Shard: shard, Began: catalog.At(time.Now())}
		}
	})
	e := &examining{auditor: r, audit: one, shard: shard, silent: map[catalog.NodeID]error{}}
	all, err := e.list()
	if err != nil {
		return err
	}
	before := one.copy()
	for i, t := range all {
		if one.Share == 0 && t.file.Name <= one.Pass.After {
			continue // challenged before the audit was interrupted
		}
		if err := e.one(ctx, t); err != nil {
			if one.Share != 0 { // another sample is drawn
				r.audits.update(func() { one.goBack(before) })
			}
			return err
		}
		if i+1 < len(all) && all[i+1].file.Name == t.file.Name {
			continue
		}
		r.audits.update(func() { one.Pass.After = t.file.Name })
	}
	r.audits.update(func() { one.Pass = nil })
	return nil
}

// list returns what is to be challenged, by name. Of a sample, nobody knows beforehand which files it is.
func (e *examining) list() (all []target, err error) {
	for after := catalog.FileName(""); ; {
		var found []catalog.File
		err := e.catalog.View(func(v catalog.View) (err error) {
			if e.draw, err = drawOf(v, e.audit.Draw); err != nil {
				return err
			}
			if found, err = v.ShardFiles(e.shard, after, 10*page); err != nil {
				return err
			}
			for _, f := range found {
				if !e.audit.Scope.Has(f.Name) {
					continue
				}
				some, err := e.targets(v, e.draw, e.audit.Scope.Replica, f)
				if err != nil {
					return err
				}
				all = append(all, some...)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(found) < 10*page {
			break
		}
		after = found[len(found)-1].Name
	}
	if e.audit.Share == 0 {
		return all, nil
	}
	return e.sampled(all), nil
}

// sampled draws a sample of each replica's copies.
func (e *examining) sampled(all []target) (out []target) {
	random := rand.New(rand.NewChaCha8([32]byte(newNonce())))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	count, taken := map[catalog.ReplicaName]int64{}, map[catalog.ReplicaName]int64{}
	for _, t := range all {
		count[t.replica]++
	}
	for _, t := range all {
		if taken[t.replica] < e.audit.sample(count[t.replica]) {
			taken[t.replica]++
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b target) int { return strings.Compare(string(a.file.Name), string(b.file.Name)) })
	return out
}

// again looks at the target as it is now; gone if it is not to be challenged any more.
func (e *examining) again(t target) (now target, gone bool, err error) {
	err = e.catalog.View(func(v catalog.View) error {
		f, err := v.File(t.file.Name)
		if err != nil {
			return err
		}
		some, err := e.targets(v, e.draw, t.replica, f)
		if gone = len(some) == 0; !gone {
			now = some[0]
		}
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) {
		return now, true, nil
	}
	return now, gone, err
}

// examined is what became of a challenge. No outcome means that the answer is right.
type examined struct {
	target
	outcome Outcome
	why     string
	gone    bool // it is not to be challenged by this node any more
	owed    bool // it is still to be made, or disputed
}

// one challenges a copy and counts the outcome.
func (e *examining) one(ctx context.Context, t target) error {
	is, err := e.find(ctx, t)
	switch {
	case err != nil || is.gone:
		return err
	case is.owed:
		e.audits.update(func() {
			e.audit.Owed++
			e.audit.OwedBytes += is.file.Size
			e.audit.asked(is.replica, 0, 0, 1)
		})
	case is.outcome == "":
		e.audits.update(func() {
			e.audit.Files++
			e.audit.Bytes += is.file.Size
			e.audit.asked(is.replica, 1, 0, 0)
		})
	default:
		e.note(is)
	}
	return nil
}

// find challenges a copy, and tells the catalog of a wrong answer. A copy that changes meanwhile is challenged as it is
// then.
func (e *examining) find(ctx context.Context, t target) (examined, error) {
	for tries := 0; ; tries++ {
		now, gone, err := e.again(t)
		if err != nil || gone {
			return examined{target: now, gone: gone}, err
		}
		if !now.good {
			return examined{target: now, owed: true}, nil
		}
		outcome, why, err := e.ask(ctx, now)
		if err != nil || outcome == "" {
			return examined{target: now}, err
		}
		later, gone, err := e.again(now)
		if err != nil {
			return examined{target: now}, err
		}
		told := outcome == AnswerWrong && !gone && !later.good // the node has found it out itself meanwhile
		if (gone || later.since != now.since || later.node != now.node || later.good != now.good) && !told &&
			outcome != AnswerUnread && tries < 3 {
			continue
		}
		if outcome == AnswerWrong && !told {
			if err := e.denounce(ctx, now); err != nil {
				return examined{target: now}, err
			}
		}
		return examined{target: now, outcome: outcome, why: agree.ClipReason(why)}, nil
	}
}

// denounce tells the catalog of a wrong answer.
func (e *examining) denounce(ctx context.Context, t target) error {
	body := files.Answers{Node: e.cfg.Self, Replica: t.replica, Draw: e.draw.Number,
		Files: []files.Answer{{Name: t.file.Name, Since: t.since}}}
	results, err := e.proposeItems(ctx, files.FindAnswers, body, 1)
	if err == nil && results[0].Refusal != nil {
		e.log.Info("a finding on a wrong answer is refused", "file", t.file.Name, "replica", t.replica, "err",
			results[0].Refusal)
	}
	return err
}

// note counts a challenge that was not answered rightly, and keeps it to be asked again, if there is room.
func (e *examining) note(is examined) {
	e.log.Warn("a challenge was not answered rightly", "file", is.file.Name, "replica", is.replica, "node", is.node,
		"outcome", is.outcome, "why", is.why)
	e.audits.update(func() {
		e.audit.count(is.outcome, is.replica, is.file.Size, 1)
		if len(e.audit.Unanswered) < askedAgain {
			now := time.Now()
			e.audit.Unanswered = append(e.audit.Unanswered, Unanswered{Name: is.file.Name, Replica: is.replica,
				Node: is.node, Outcome: is.outcome, Why: is.why, At: now, Next: now.Add(againFirst)})
		}
	})
}

// count adds n challenges that ended so. The caller holds the lock of the audits.
func (one *Audit) count(how Outcome, of catalog.ReplicaName, size int64, n int) {
	m := int64(n)
	switch how {
	case AnswerWrong:
		one.Files += m
		one.Bytes += m * size
		one.Wrong += n
		one.asked(of, m, m, 0)
	case AnswerRefused:
		one.Refused += n
		one.asked(of, 0, m, m)
	case AnswerLate:
		one.Late += n
		one.asked(of, 0, m, m)
	default:
		one.Unreached += n
		one.asked(of, 0, 0, m)
	}
}

// ask challenges the copy, reads this node's own bytes, and compares. No outcome means that the answer is right. An
// error keeps the audit from going on.
func (e *examining) ask(ctx context.Context, t target) (Outcome, string, error) {
	switch {
	case !t.own:
		return AnswerUnread, "the examiner has no good copy itself", nil
	case t.node == "":
		return AnswerUnreached, "no node holds the shard", nil
	case e.silent[t.node] != nil:
		return AnswerUnreached, e.silent[t.node].Error(), nil
	case e.audit.late[t.node] >= lateInARow:
		return AnswerUnreached, fmt.Sprintf("the node is not asked any more: %d answers in a row did not come in time",
			lateInARow), nil
	}
	c := Challenge{Name: t.file.Name, Draw: e.draw.Number, Nonce: newNonce()}
	mac, err := e.answerOf(ctx, t, c)
	switch {
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrBusy):
		e.audits.update(func() {
			if e.audit.late == nil {
				e.audit.late = map[catalog.NodeID]int{}
			}
			e.audit.late[t.node]++
		})
		return AnswerLate, err.Error(), nil
	}
	delete(e.audit.late, t.node)
	switch {
	case !errors.Is(err, ErrNotHere) && wasAnswered(err):
		return AnswerRefused, err.Error(), nil
	case err != nil && !errors.Is(err, ErrNotHere):
		e.silent[t.node] = err
		return AnswerUnreached, err.Error(), nil
	}
	return e.compare(ctx, t, c, mac)
}

// compare reads this node's own bytes and compares them with an answer; no answer means that the node does not have
// the file.
func (e *examining) compare(ctx context.Context, t target, c Challenge, mac []byte) (Outcome, string, error) {
	want := heldAs(t.file)
	right, got, err := c.readFor(ctx, e.store, e.cfg.Self, t.node, want, e.pace)
	away := e.store.reachable(want.Name)
	switch {
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	case err != nil && away != nil:
		return AnswerUnread, away.Error(), nil
	case err != nil && !e.store.shards.present(want.Name):
		e.store.noteMissing(want.Name)
		_, err = e.doubt(ctx, want.Name, missingFinding(want.Name))
		return AnswerUnread, "the examiner's own copy is missing", err
	case e.store.lost(want.Name, err):
		_, err = e.doubt(ctx, want.Name, corruptFinding(want.Name, catalog.Digest{}))
		return AnswerUnread, "the examiner's own copy cannot be read", err
	case err != nil:
		return "", "", fmt.Errorf("read %s for a challenge: %w", want.Name, err)
	case got != want:
		_, err = e.doubt(ctx, want.Name, corruptFinding(want.Name, got.SHA256))
		return AnswerUnread, "the examiner's own copy is wrong", err
	case len(mac) == 0:
		return AnswerWrong, "the node does not have the file", nil
	case !hmac.Equal(mac, right):
		return AnswerWrong, "its answer is not that of the right bytes", nil
	}
	return "", "", nil
}

// answerOf asks the node for its answer, again while it is busy, and a few times while it is not ready or does not know
// yet that this node is the examiner.
func (e *examining) answerOf(ctx context.Context, t target, c Challenge) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLeast+time.Duration(t.file.Size/answerPace)*time.Second)
	defer cancel()
	for tries := 1; ; tries++ {
		mac, err := e.peers.Challenge(ctx, t.node, c)
		unready := errors.Is(err, ErrNotExaminer) || errors.Is(err, ErrNotReady)
		if unready && (tries >= unreadyTries || e.hasty(t.node)) {
			e.hurry(t.node, true)
			return mac, err
		}
		if !unready && !errors.Is(err, ErrBusy) {
			e.hurry(t.node, false)
			return mac, err
		}
		if sleep(ctx, backoff(tries, time.Second, 10*time.Second)) != nil {
			return nil, err // busy all the time
		}
	}
}

// hasty reports whether the node was waited for before in this audit, in vain.
func (e *examining) hasty(node catalog.NodeID) bool {
	e.audits.mu.Lock()
	defer e.audits.mu.Unlock()
	return e.audit.hasty[node]
}

// hurry notes whether the node was waited for in vain.
func (e *examining) hurry(node catalog.NodeID, vain bool) {
	e.audits.mu.Lock()
	defer e.audits.mu.Unlock()
	if !vain {
		delete(e.audit.hasty, node)
		return
	}
	if e.audit.hasty == nil {
		e.audit.hasty = map[catalog.NodeID]bool{}
	}
	e.audit.hasty[node] = true
}

// wasAnswered reports whether the error is the other node's answer.
func wasAnswered(err error) bool {
	var with interface{ Reason() string }
	return errors.Is(err, ErrNotExaminer) || errors.Is(err, ErrNotReady) || errors.As(err, &with)
}
