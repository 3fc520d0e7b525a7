package archive

import (
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/replica"
)

// TestAPartDoesNotEndAnAlert follows an audit that found something with others: one of a part that is right does not say
// that the rest is.
func TestAPartDoesNotEndAnAlert(t *testing.T) {
	done := func(kind replica.AuditKind, scope replica.AuditScope) replica.Audit {
		return replica.Audit{State: replica.AuditDone, Kind: kind, Scope: scope}
	}
	failed := done(replica.AuditChallenge, replica.AuditScope{})
	failed.Wrong, failed.Unanswered = 1, []replica.Unanswered{{Name: "f", Replica: "south", Outcome: replica.AnswerWrong}}
	faulty := done("", replica.AuditScope{})
	faulty.Faulty, faulty.Faults = 1, []replica.ShardFault{{Shard: 1, Reason: "broken"}}
	shard := catalog.Shard(7)
	for what, tt := range map[string]struct {
		next  replica.Audit
		ended bool // the alert of challenges, or of shards
	}{
		"challenges of a file":      {done(replica.AuditChallenge, replica.AuditScope{Files: []catalog.FileName{"g"}}), false},
		"challenges of a replica":   {done(replica.AuditChallenge, replica.AuditScope{Replica: "east"}), false},
		"challenges of all":         {done(replica.AuditChallenge, replica.AuditScope{}), true},
		"a look at what is there":   {done(replica.AuditPresence, replica.AuditScope{}), false},
		"a reading of one shard":    {done("", replica.AuditScope{Shard: &shard}), false},
		"a reading of some files":   {done("", replica.AuditScope{Prefix: "a"}), false},
		"a reading of all":          {done("", replica.AuditScope{}), true},
		"challenges that still run": {replica.Audit{State: replica.AuditRunning, Kind: replica.AuditChallenge}, false},
	} {
		all := []replica.Audit{failed, faulty, tt.next}
		if tt.next.Kind == replica.AuditChallenge {
			if got := unanswered(all, time.Now()); (len(got) == 0) != tt.ended {
				t.Errorf("%s: %v", what, got)
			}
			continue
		}
		if got := unaudited(all); (len(got) == 0) != tt.ended {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// TestTheAlertOfChallenges: a wrong answer is told at once, another one when asking again did not help; with its reason, and
// until it was answered.
func TestTheAlertOfChallenges(t *testing.T) {
	now := time.Unix(1e9, 0)
	refused := func(change func(*replica.Unanswered)) replica.Unanswered {
		u := replica.Unanswered{Name: "f", Replica: "south", Outcome: replica.AnswerRefused, Why: "not mounted", At: now.Add(-replica.UnansweredFor)}
		if change != nil {
			change(&u)
		}
		return u
	}
	for what, tt := range map[string]struct {
		all    []replica.Unanswered
		more   int // that are not listed
		copies string
		reason string
	}{
		"refused for long":         {all: []replica.Unanswered{refused(nil)}, copies: "1", reason: "not mounted"},
		"of an earlier program":    {all: []replica.Unanswered{refused(func(u *replica.Unanswered) { u.At, u.Why = time.Time{}, "" })}, copies: "1", reason: "it gives no reason"},
		"refused just now":         {all: []replica.Unanswered{refused(func(u *replica.Unanswered) { u.At = now.Add(-time.Minute) })}},
		"refused in the future":    {all: []replica.Unanswered{refused(func(u *replica.Unanswered) { u.At = now.Add(time.Hour) })}, copies: "1", reason: "not mounted"},
		"wrong just now":           {all: []replica.Unanswered{refused(func(u *replica.Unanswered) { u.At, u.Outcome = now.Add(-time.Second), replica.AnswerWrong })}, copies: "1", reason: "not mounted"},
		"answered since":           {all: []replica.Unanswered{refused(func(u *replica.Unanswered) { u.Settled = now })}},
		"not reached":              {all: []replica.Unanswered{refused(func(u *replica.Unanswered) { u.Outcome = replica.AnswerUnreached })}},
		"all answered, others not": {all: []replica.Unanswered{refused(func(u *replica.Unanswered) { u.Settled = now })}, more: 5, copies: "5", reason: unlisted},
		"one of three, and others": {all: []replica.Unanswered{refused(func(u *replica.Unanswered) { u.Settled = now }), refused(nil), refused(func(u *replica.Unanswered) { u.At = now })}, more: 5, copies: "6", reason: "not mounted"},
	} {
		one := replica.Audit{State: replica.AuditDone, Kind: replica.AuditChallenge}
		one.Unanswered = tt.all
		one.Refused = tt.more
		for _, u := range tt.all {
			switch u.Outcome {
			case replica.AnswerWrong:
				one.Wrong++
			case replica.AnswerRefused:
				one.Refused++
			}
		}
		got := unanswered([]replica.Audit{one}, now)
		if len(got) == 0 != (tt.copies == "") {
			t.Errorf("%s: %v", what, got)
		} else if len(got) == 1 && (got[0].Parameters["copies"] != tt.copies || got[0].Parameters["reason"] != tt.reason) {
			t.Errorf("%s: %v", what, got[0])
		}
	}
}

// TestASampleDoesNotEndTheAlertOfChallenges: what an earlier audit was not told is told to the operator as long as it is
// asked for, whatever a few other copies answered since.
func TestASampleDoesNotEndTheAlertOfChallenges(t *testing.T) {
	now := time.Unix(1e9, 0)
	first := replica.Audit{State: replica.AuditDone, Kind: replica.AuditChallenge}
	first.Refused, first.Unanswered = 1, []replica.Unanswered{{Name: "f", Replica: "south", Outcome: replica.AnswerRefused, At: now.Add(-time.Hour), Next: now}}
	over := first
	over.Unanswered = []replica.Unanswered{first.Unanswered[0]}
	over.Unanswered[0].Next = time.Time{}
	sample := replica.Audit{State: replica.AuditDone, Kind: replica.AuditChallenge}
	sample.Share = 0.1
	for what, tt := range map[string]struct {
		all  []replica.Audit
		told bool
	}{
		"a sample":                           {[]replica.Audit{first, sample}, true},
		"two samples":                        {[]replica.Audit{first, sample, sample}, true},
		"a sample, and nobody asks again":    {[]replica.Audit{over, sample}, false},
		"nobody asks again":                  {[]replica.Audit{over}, true},
		"all, and then a sample":             {[]replica.Audit{first, {State: replica.AuditDone, Kind: replica.AuditChallenge}, sample}, false},
		"all, of which not all was done":     {[]replica.Audit{first, {State: replica.AuditIncomplete, Kind: replica.AuditChallenge}}, false},
		"all, which rests before it is done": {[]replica.Audit{first, {State: replica.AuditPaused, Kind: replica.AuditChallenge}}, true},
	} {
		if got := unanswered(tt.all, now); (len(got) == 1) != tt.told {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// TestTheListOfChallengesBeginsWithThoseThatAreOpen, and says of the others when they were answered.
func TestTheListOfChallengesBeginsWithThoseThatAreOpen(t *testing.T) {
	at := time.Unix(1e9, 0)
	all := []replica.Unanswered{{Name: "a", Settled: at}, {Name: "b", Settled: at, Moot: true, Why: "no"}, {Name: "c", Why: "not mounted", Tries: 3}}
	for range findingsListed {
		all = append(all, replica.Unanswered{Name: "d", Settled: at})
	}
	got := unansweredFindings(all)
	if len(got) != findingsListed || got[0].File != "c" || got[0].Detail != "not mounted" || got[0].Tries != 3 || !got[0].Answered.IsZero() ||
		got[1].File != "a" || !got[1].Answered.Equal(at) || got[2].File != "b" || !got[2].Answered.IsZero() || got[2].Detail == "no" {
		t.Errorf("%+v", got[:4])
	}
}
