package pace

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Homes reaches the homes of other nodes.
type Homes interface {
	// Ask gives the asks to a node's Home and returns its answers, one for each. It may take as long as ctx allows.
	Ask(ctx context.Context, node string, asks []Ask) ([]Answer, error)
}

// Config is what a Pacer needs.
type Config struct {
	Self  string // this node
	Home  *Home  // of this node
	Homes Homes  // of the others
	Log   *slog.Logger
}

// Pacer leases hosts for the jobs of one node. It is safe for concurrent use.
type Pacer struct {
	cfg   Config
	alone *Home // among the jobs of this node, where a host's home cannot be reached
	kick  chan struct{}
	late  sync.WaitGroup // messages to earlier homes

	mu     sync.Mutex
	living []string
	past   []view // who lived before, as in Home
	cutOff int
	held   map[held]*turn
}

// held names a lease: which job has which host.
type held struct{ job, host string }

// turn is a lease as its holder sees it.
type turn struct {
	until    time.Time // when the lease ends
	giveBack bool
	wanted   time.Time // last asked for by a worker
	asked    time.Time // last asked for at the home
	retry    time.Time // no use in asking before
	lost     bool      // the home did not answer: the job continues at a reduced pace
	alone    bool      // it asks the host so now
	inFlight int
	rest     time.Time // the host rests until then
}

// Grant is a worker's answer from Admit.
type Grant struct {
	Wait   time.Duration // more than 0: not yet, try again then
	Factor int           // pauses are multiplied by this
}

// New makes a Pacer.
func New(cfg Config) *Pacer {
	alone := NewHome(cfg.Self)
	alone.SetLiving([]string{cfg.Self}, time.Time{})
	return &Pacer{cfg: cfg, alone: alone, kick: make(chan struct{}, 1), held: map[held]*turn{}}
}

// SetLiving sets which nodes are alive, this one among them, and how many others are cut off and may still be
// crawling.
func (p *Pacer) SetLiving(living []string, cutOff int, now time.Time) {
	p.cfg.Home.SetLiving(living, now)
	p.mu.Lock()
	defer p.mu.Unlock()
	sorted := slices.Sorted(slices.Values(living))
	if len(p.living) > 0 && !slices.Equal(sorted, p.living) {
		p.past = slices.Insert(p.past, 0, view{p.living, now})
	}
	p.past = slices.DeleteFunc(p.past, func(v view) bool { return now.Sub(v.until) > settling })
	p.living, p.cutOff = sorted, cutOff
}

// tryAgain is when a worker looks again for a lease that is on its way.
const tryAgain = 100 * time.Millisecond

// Admit tells whether the job may ask the host now. If so it counts as asking until Done. Before the first SetLiving,
// nobody may.
func (p *Pacer) Admit(job, host string) Grant {
	now := time.Now()
	key := held{job, host}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.living) == 0 {
		return Grant{Wait: tryAgain}
	}
	t := p.held[key]
	if t == nil {
		t = &turn{}
		p.held[key] = t
	}
	t.wanted = now
	if home := HomeOf(host, p.living); home == p.cfg.Self && !now.Before(t.until) && !now.Before(t.retry) {
		p.apply(t, p.cfg.Home.Serve([]Ask{{Host: host, Holder: p.holder(key)}}, now)[0], now)
	}
	switch {
	case now.Before(t.until) && !t.giveBack:
		t.inFlight++
		return Grant{Factor: 1 + p.cutOff}
	case t.lost && t.inFlight == 0:
		a := p.alone.Serve([]Ask{{Host: host, Holder: job}}, now)[0]
		if !a.Granted {
			return Grant{Wait: a.Wait}
		}
		t.inFlight, t.alone = 1, true
		return Grant{Factor: max(len(p.living), 1) + p.cutOff}
	case now.Before(t.retry):
		return Grant{Wait: max(t.retry.Sub(now), time.Millisecond)}
	}
	p.wakeUp()
	return Grant{Wait: tryAgain}
}

// Done ends one request; the host rests for that time after it.
func (p *Pacer) Done(job, host string, rest time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.held[held{job, host}]
	if t == nil {
		return
	}
	t.inFlight = max(t.inFlight-1, 0)
	if at := time.Now().Add(rest); at.After(t.rest) {
		t.rest = at
	}
	if t.alone {
		t.alone = false
		p.alone.Serve([]Ask{{Host: host, Holder: job, Return: true, Rest: rest}}, time.Now())
	}
	if t.inFlight == 0 && t.giveBack {
		p.wakeUp()
	}
}

// Leave gives back all that a job has.
func (p *Pacer) Leave(job string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, t := range p.held {
		if key.job == job {
			t.giveBack, t.inFlight = true, 0
		}
	}
	p.wakeUp()
}

func (p *Pacer) holder(key held) string { return p.cfg.Self + "/" + key.job }

func (p *Pacer) wakeUp() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// apply applies the answer to a request made at that time. The caller holds mu.
func (p *Pacer) apply(t *turn, a Answer, asked time.Time) {
	t.asked, t.lost = asked, false
	switch {
	case a.Granted:
		t.until, t.retry = asked.Add(a.For), time.Time{}
		t.giveBack = t.giveBack || a.GiveBack
	case a.Moved:
		t.until, t.retry = time.Time{}, asked.Add(tryAgain)
	default:
		t.until, t.retry = time.Time{}, asked.Add(a.Wait)
	}
}

// request is an ask on its way, with the turn it is for.
type request struct {
	key held
	Ask
}

// Run renews, asks and gives back until ctx ends; then it gives back all there is.
func (p *Pacer) Run(ctx context.Context) error {
	timer := time.NewTimer(renewal)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			p.farewell()
			p.late.Wait()
			return nil
		case <-timer.C:
		case <-p.kick:
		}
		p.round(ctx)
		timer.Reset(p.pause())
	}
}

// pause is until the next round is due.
func (p *Pacer) pause() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, next := time.Now(), renewal
	for _, t := range p.held {
		if !now.Before(t.until) && !t.giveBack { // wanted: as soon as it makes sense
			next = min(next, max(t.retry.Sub(now), tryAgain/2))
		}
	}
	return next
}

// round asks each home once for all there is to ask, and tells earlier homes of hosts what is held.
func (p *Pacer) round(ctx context.Context) {
	var wg sync.WaitGroup
	due, earlier := p.due(time.Now())
	for home, requests := range due {
		wg.Go(func() { p.ask(ctx, home, requests) })
	}
	for home, requests := range earlier { // it may well be dead, and nobody waits for its answers
		p.late.Go(func() { p.tellEarlier(ctx, home, requests) })
	}
	wg.Wait()
}

// maxAsks is how many hosts are asked for in one message.
const maxAsks = 2000

// due collects the requests to make, by home, and forgets leases that nobody wants any longer.
func (p *Pacer) due(now time.Time) (out map[string][]request, earlier map[string][]Ask) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out, earlier = map[string][]request{}, map[string][]Ask{}
	for key, t := range p.held {
		a := Ask{Host: key.host, Holder: p.holder(key)}
		granted := now.Before(t.until)
		idle := t.inFlight == 0 && now.Sub(t.wanted) > Length
		switch {
		case t.inFlight == 0 && (t.giveBack || idle):
			delete(p.held, key)
			if !granted {
				if !now.Before(t.rest) {
					continue
				}
			}
			a.Return, a.Rest = true, max(t.rest.Sub(now), 0)
		case granted || t.inFlight > 0:
			if now.Sub(t.asked) < renewal {
				continue
			}
			a.Held = true
		case now.Before(t.retry):
			continue
		}
		home := HomeOf(key.host, p.living)
		if len(out[home]) >= maxAsks {
			p.wakeUp()
			continue
		}
		out[home] = append(out[home], request{key, a})
		if a.Held || a.Return {
			for _, before := range p.homesBefore(key.host, home, now) {
				earlier[before] = append(earlier[before], a)
			}
		}
	}
	return out, earlier
}

// homesBefore returns the homes that the host had lately, but for the one that it has now. Such a home may not have
// heard of the change yet: it would take a lease that is not renewed with it for one that has ended, and grant another.
func (p *Pacer) homesBefore(host, home string, now time.Time) (out []string) {
	for _, v := range p.past {
		before := HomeOf(host, v.living)
		if now.Sub(v.until) < settling && before != home && !slices.Contains(out, before) {
			out = append(out, before)
		}
	}
	return out
}

// askTimeout bounds a message to a home.
const askTimeout = 2 * time.Second

// ask sends requests to a home and applies the answers.
func (p *Pacer) ask(ctx context.Context, home string, requests []request) {
	asks := make([]Ask, len(requests))
	for i, r := range requests {
		asks[i] = r.Ask
	}
	asked := time.Now()
	var answers []Answer
	var err error
	if home == p.cfg.Self {
		answers = p.cfg.Home.Serve(asks, asked)
	} else {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		answers, err = p.cfg.Homes.Ask(ctx, home, asks)
		cancel()
		if err == nil && len(answers) != len(asks) {
			answers = nil
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.cfg.Log.Debug("home of hosts does not answer", "node", home, "hosts", len(asks), "error", err)
	}
	for i, r := range requests {
		t := p.held[r.key]
		switch {
		case t == nil:
		case answers == nil:
			t.asked, t.retry = asked, asked.Add(renewal)
			t.lost = !asked.Before(t.until)
		default:
			p.apply(t, answers[i], asked)
		}
	}
}

// tellEarlier has earlier homes of hosts know what is held and given back. What they answer does not count.
func (p *Pacer) tellEarlier(ctx context.Context, home string, asks []Ask) {
	if home == p.cfg.Self {
		p.cfg.Home.Serve(asks, time.Now())
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if _, err := p.cfg.Homes.Ask(ctx, home, asks); err != nil {
		p.cfg.Log.Debug("earlier home of hosts does not answer", "node", home, "error", err)
	}
}

// farewell gives all leases back, as far as their homes can be reached.
func (p *Pacer) farewell() {
	p.mu.Lock()
	for _, t := range p.held {
		t.giveBack, t.inFlight = true, 0
	}
	p.mu.Unlock()
	p.round(context.Background())
}
