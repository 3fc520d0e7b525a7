package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	// maxKeys bounds the keys one command writes; ownKeys of them are the clock's, the trail's and the window's.
	maxKeys = 1000
	ownKeys = 4
	// lastTime is the last millisecond of the year 9999: a later stamp is a mistake that could not be undone.
	lastTime Time = 253402300799999
)

// handler carries out one kind of command. It returns the result's value, a *Refusal, or the transaction's error.
type handler func(s *state, body json.RawMessage) (any, error)

// handlerOf returns the handler of a command, or nil. levelOf says which level it needs.
func handlerOf(kind Kind) handler {
	switch kind {
	case Found:
		return with(found)
	case RaiseLevel:
		return with(raiseLevel)
	case RaiseEpoch:
		return with(raiseEpoch)
	case SetClock:
		return with(setClock)
	case SetReplica:
		return with(setReplica)
	case SetCollection:
		return with(setCollection)
	case CreateToken:
		return with(createToken)
	case RevokeToken:
		return with(revokeToken)
	case JoinMember:
		return with(joinMember)
	case UpdateMember:
		return with(updateMember)
	case RemoveMember:
		return marked[memberRemovalUnmarked](removeMember)
	case ProveHolding:
		return with(proveHolding)
	case AssignShards:
		return with(assignShards)
	case SwitchShard:
		return with(switchShard)
	case LeaveShard:
		return with(leaveShard)
	case SwitchShards:
		return with(switchShards)
	case LeaveShards:
		return with(leaveShards)
	case RemoveReplica:
		return with(removeReplica)
	case RemoveCollection:
		return with(removeCollection)
	case FillReplica:
		return with(fillReplica)
	case CreateAccess:
		return with(createAccess)
	case RevokeAccess:
		return with(revokeAccess)
	}
	return fileHandler(kind)
}

func fileHandler(kind Kind) handler {
	switch kind {
	case AddFiles:
		return with(addFiles)
	case ReportCopies:
		return with(reportCopies)
	case ReleaseFiles:
		return with(releaseFiles)
	case RemoveFile:
		return marked[fileRemovalUnmarked](removeFile)
	case LoseFile:
		return marked[fileLossUnmarked](loseFile)
	case FindCopies:
		return with(findCopies)
	case FindSources:
		return with(findSources)
	case TakeSources:
		return with(takeSources)
	case PassShard:
		return with(passShard)
	case JudgeCopies:
		return with(judgeCopies)
	case CreateJob:
		return with(createJob)
	case SubmitJob:
		return with(submitJob)
	case ClaimJob:
		return with(claimJob)
	case StartJob:
		return with(startJob)
	case FinishJob:
		return with(finishJob)
	case LoseJob:
		return with(loseJob)
	case WishJob:
		return with(wishJob)
	case ResubmitJob:
		return with(resubmitJob)
	case RejectJob:
		return with(rejectJob)
	case SealOldJobs:
		return with(sealStep)
	case SealToNodes:
		return with(sealAgain)
	}
	return peopleHandler(kind)
}

// with decodes a command's body for its handler, unless that is done. Unknown fields are refused: they come from a level that
// this cluster does not have.
func with[B any](do func(*state, *B) (any, error)) handler {
	return func(s *state, raw json.RawMessage) (any, error) {
		body, read := s.body.(*B)
		if !read {
			body = new(B)
			if err := decodeStrict(raw, body); err != nil {
				return nil, refuse(Invalid, "body: %v", err)
			}
		}
		return do(s, body)
	}
}

func decodeStrict(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the value")
	}
	return nil
}

func refuse(code Code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Apply carries out one command of the log and returns its answer. The error is the transaction's, or says
// that a stored value is damaged; whatever the bytes of data, there is no other, and a command that is
// refused changes nothing but the request window. index is the command's place in the log.
func Apply(tx Tx, index uint64, data []byte) (Result, error) {
	if len(data) > MaxBytes {
		return Result{Refusal: refuse(Invalid, "command of %d bytes: at most %d", len(data), MaxBytes)}, nil
	}
	c, body, err := readCommand(data)
	if err != nil {
		return Result{Refusal: refuse(Invalid, "command: %v", err)}, nil
	}
	s := newState(tx, index)
	s.body = body
	res, err := s.apply(&c)
	if err != nil {
		return Result{}, fmt.Errorf("apply %q: %w", string(c.Kind), err)
	}
	return res, nil
}

// apply answers from the window or carries the command out and remembers the answer.
func (s *state) apply(c *Command) (Result, error) {
	var err error
	if s.cluster, _, err = get[Cluster](s, keyCluster); err != nil {
		return Result{}, err
	}
	known, err := s.isMember(c.Node)
	if err != nil {
		return Result{}, err
	}
	if known {
		if old, err := s.remembered(c); old != nil || err != nil {
			return deref(old), err
		}
	} else if c.Node != "" && c.Kind != Found && c.Kind != JoinMember {
		return Result{Refusal: refuse(Denied, "node %s is not a member", clip(string(c.Node), 60))}, nil
	}
	res, job, err := s.carryOut(c)
	if err != nil {
		return Result{}, err
	}
	// A member that the command made or removed: the window follows the member.
	if known, err = s.isMember(c.Node); err != nil {
		return Result{}, err
	}
	if known {
		if err := s.remember(c, res, job); err != nil {
			return Result{}, err
		}
	}
	return res, s.flush()
}

func deref(r *Result) Result {
	if r == nil {
		return Result{}
	}
	return *r
}

// carryOut runs the command's handler and stages what it changed, nothing when it is refused. It returns also
// the id of the job that the result's value is, 0 when it is none.
func (s *state) carryOut(c *Command) (Result, uint64, error) {
	value, err := s.attempt(c)
	var refusal *Refusal
	if errors.As(err, &refusal) {
		s.changed.clear()
		return Result{Refusal: refusal}, 0, nil
	}
	if err != nil {
		return Result{}, 0, err
	}
	var res Result
	if value != nil {
		if res.Value, err = appendJSON(nil, value); err != nil {
			return Result{}, 0, err
		}
	}
	if job, ok := value.(*Job); ok {
		return res, job.ID, nil
	}
	return res, 0, nil
}

func (s *state) attempt(c *Command) (any, error) {
	if c.Version != 1 {
		return nil, refuse(Unsupported, "command of version %d", c.Version)
	}
	do := handlerOf(c.Kind)
	level, _ := LevelOf(c.Kind)
	if do == nil || c.Kind != Found && level > s.cluster.Level && s.cluster.ID != "" {
		return nil, refuse(Unsupported, "command %q is not known at level %d", clip(string(c.Kind), 40), s.cluster.Level)
	}
	if s.cluster.ID == "" && c.Kind != Found {
		return nil, refuse(NotFound, "there is no cluster yet")
	}
	if c.At < 0 || c.At > lastTime {
		return nil, refuse(Invalid, "time %d is not between 1970 and 9999", c.At)
	}
	if len(c.Actor) > 200 {
		return nil, refuse(Invalid, "actor of %d bytes: at most 200", len(c.Actor))
	}
	clock, _, err := get[Time](s, keyClock)
	if err != nil {
		return nil, err
	}
	s.at, s.stamp, s.node, s.actor = max(clock, c.At), c.At, c.Node, c.Actor
	if s.actor == "" {
		s.actor = string(c.Node)
	}
	value, err := do(s, c.Body)
	if err != nil {
		return nil, err
	}
	if s.at != clock {
		if err := s.set(keyClock, s.at); err != nil {
			return nil, err
		}
	}
	if len(s.changed.all) > maxKeys-2 || s.changed.size() > MaxBytes {
		return nil, refuse(Invalid, "it would write %d keys and %d bytes: at most %d and %d",
			len(s.changed.all), s.changed.size(), maxKeys-2, MaxBytes)
	}
	return value, nil
}

// speaksFor refuses a command in which one node speaks for another.
func (s *state) speaksFor(node NodeID) error {
	if s.node != "" && s.node != node {
		return refuse(Denied, "node %s does not speak for %s", s.node, clip(string(node), 60))
	}
	return nil
}
