package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	asked "holdfast/catalog/batches"
	"holdfast/catalog/rules"
	"holdfast/node/front"
	"holdfast/node/harvester"
	"holdfast/node/membership"
	"holdfast/node/metrics"
	"holdfast/node/notices"
	"holdfast/node/pages"
	"holdfast/node/steward"
	"holdfast/node/vault"
	"holdfast/raft"
)

// Run runs the node until ctx ends or a part of it fails. It returns when everything is stopped and closed, or with
// ErrHung when a part does not stop in time: then the process is to end.
func (n *Node) Run(ctx context.Context) error {
	answers := api.New(n.backend(), n.log)
	n.notices.See(answers.Seen)
	var origins front.Origins
	var readers, archivists http.Handler
	offered, err := n.cfg.Offered(n.hooks.Texts, n.log)
	if err == nil {
		readers, err = n.replayHandler(offered)
	}
	if err == nil {
		archivists, err = pages.New(pages.Config{Cluster: n.roster.Known().Cluster.Name, Node: n.cfg.Name,
			Place: n.cfg.Replica.Place, OpenID: n.cfg.OpenID, API: answers.Pages(), Sessions: n.sessions,
			Origins: &origins, Languages: offered, Log: n.log})
	}
	var ports front.Front
	if err == nil {
		ports, err = front.Listen(ctx, front.Config{API: n.cfg.Listen.API, Access: n.cfg.Listen.Access,
			Secure: n.cfg.Secure, Log: n.log})
	}
	if err != nil {
		return errors.Join(err, n.close())
	}
	n.cfg.Listen.API, n.cfg.Listen.Access = ports.API.Addr().String(), ports.Access.Addr().String()
	origins = front.OriginsOf(n.cfg.Config) // the ports are known
	answer := handlers{api: answers, pages: archivists, captures: readers, origins: origins}
	parts := n.parts(answer, ports)
	stop := newStages()
	return bounded(stop, stopPatience, func() error {
		err := runParts(ctx, n.log, stop, func() {
			close(n.ready)
			n.log.Info("node runs", "id", n.id, "replica", n.cfg.Replica.Name, "peer", n.peer.Addr(),
				"api", ports.API.Addr(), "access", ports.Access.Addr())
		}, parts...)
		stop.enter("the node's databases")
		return errors.Join(err, n.close())
	})
}

// handlers answer at the node's ports.
type handlers struct {
	api             *api.API
	pages, captures http.Handler
	origins         front.Origins // under which names
}

// parts are what runs, in the order of its start.
func (n *Node) parts(answer handlers, ports front.Front) []part {
	figures := metrics.New(n.metrics(), n.log.With("room", "metrics"))
	atAPI := figures.Count("api", front.Beside(answer.api, answer.api.Guard(catalog.Look, figures),
		answer.origins.ForPages(answer.pages)))
	captures := figures.Count("access", answer.origins.ForCaptures(answer.captures))
	atAPI, captures = n.traces.Requests("api", atAPI), n.traces.Requests("access", captures)
	member := n.member()
	news := membership.News{Self: n.id, Roster: n.roster, Changed: n.changed, Join: n.gossip.Join,
		Tell: func() error { return n.gossip.SetFacts(n.facts()) }, Log: n.log}
	var all []part
	if n.traces != nil { // the last to stop: the others' ends are in them
		all = append(all, part{"traces", n.traces.Run})
	}
	all = append(all, []part{
		{"peer", n.peer.Run},
		{"raft", func(ctx context.Context) error { return lost(n.raft.Run(ctx)) }},
		{"gossip", n.gossip.Run},
		{"trust", n.watching(member.Trust, membership.Trusted()...)},
		{"acquaint", member.Acquaint},
		{"clocks", n.timekeeper().Run},
		{"epoch", member.Yield},
		{"membership", member.Stay},
		{"announce", n.watching(member.Announce, catalog.PrefixMembers, catalog.PrefixCluster)},
		{"news", news.Run},
		{"cover", n.watching(func(ctx context.Context, changed <-chan struct{}) error {
			return n.captures.Cover(ctx, changed, n.changed.C)
		}, catalog.PrefixLayout, catalog.PrefixMembers, catalog.PrefixReplicas)},
	}...)
	all = append(all, part{"policy", n.watching(n.policy.Run, rules.Keys()...)})
	if n.indexer != nil {
		all = append(all, part{"index", n.indexer.Run}, part{"lack", n.lack()})
	}
	all = append(all,
		part{"replica", n.replica.Run},
		part{"ledgers", n.ledgers.Run},
		part{"backups", n.backups.Run},
		part{"soundness", n.sound.Run},
		part{"leader", n.watching(n.steward().Run, steward.Watched()...)},
		part{"harvests", n.watching(n.harvester.Run, harvester.Watched()...)},
		part{"pace", n.crawls.Pace},
		part{"vault", n.watching(n.vault.Run, vault.Watched()...)},
		part{"uses", n.warrants.Uses.Run},
		part{"sessions", n.sessions.Run},
		part{"crawls", n.watching(n.crawls.Run, catalog.PrefixJobs)},
		part{"ingest", n.ingests.Run},
		part{"batches", n.watching(n.batches.Run, asked.PrefixBatches, catalog.PrefixMembers)},
		part{"api", func(ctx context.Context) error { return ports.API.Serve(ctx, atAPI) }},
		part{"alerts", answer.api.Watch},
		part{"figures", n.figures.Run},
		part{"notices", n.watching(n.notices.Run, notices.Watched()...)},
		part{"access", func(ctx context.Context) error { return ports.Access.Serve(ctx, captures) }},
	)
	return all
}

// steward returns what does the leader's duties on this node.
func (n *Node) steward() *steward.Steward {
	return steward.New(steward.Config{Self: n.id, Lease: time.Duration(n.cfg.Limits.Lease), Agreement: n.raft,
		Contacts: n.raft.Contacts, Alive: n.rooms, News: n.changed.C, Now: n.clocks.Now,
		Lacking: func() map[catalog.NodeID]steward.Lacking {
			return lackingOf(append(n.gossip.Alive(), n.facts()))
		},
		RebuildAfter: time.Duration(n.cfg.Limits.RebuildAfter),
		Unsure:       n.clocks.Doubtful, Log: n.log})
}

// member returns what keeps this node a member.
func (n *Node) member() membership.Member {
	return membership.Member{Folder: n.cfg, Roster: n.roster, Refusals: n.refusals, Agreement: agreement{n.raft},
		Caller: carrier{n.peer}, Insist: n.agreed.Insist, Log: n.log}
}

// timekeeper returns what keeps this node's clocks compared.
func (n *Node) timekeeper() membership.Timekeeper {
	links := func() (out []membership.Link) {
		for _, l := range n.peer.Stats().Links {
			out = append(out, membership.Link{Peer: catalog.NodeID(l.Peer), Since: l.Since, Ahead: l.Clock})
		}
		return out
	}
	connected := func() (out []catalog.NodeID) {
		for _, id := range n.peer.Connected() {
			out = append(out, catalog.NodeID(id))
		}
		return out
	}
	return membership.Timekeeper{Clocks: n.clocks, Others: n.roster.Others, Connected: connected,
		Links: links, Caller: carrier{n.peer}, Log: n.log}
}

// lack returns what tells the indexer of which shards this node lacks files.
func (n *Node) lack() func(context.Context) error {
	name := catalog.ReplicaName(n.cfg.Replica.Name)
	doubtful := func() []catalog.FileName { return append(n.store.Missing(), n.store.Loose()...) }
	return n.watching(func(ctx context.Context, changed <-chan struct{}) error {
		return n.indexer.Lack(ctx, n.raft, name, doubtful, changed)
	}, catalog.PrefixOwed(name), catalog.PrefixReplicaLayout(name))
}

// watching returns a part of the node that is told of changes of the catalog under the prefixes.
func (n *Node) watching(run func(context.Context, <-chan struct{}) error,
	prefixes ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		watch := n.raft.Watch(prefixes...)
		defer watch.Close()
		return run(ctx, watch.C)
	}
}

// part is one thing that runs as long as the node does.
type part struct {
	name string
	run  func(context.Context) error
}

// stopPatience is how long one part of the node may take to stop. A disk that has gone away keeps some for ever.
const stopPatience = 30 * time.Second

// ErrHung reports that a node did not stop in time. Something of it still runs, and ends with the process.
var ErrHung = errors.New("did not stop")

// stages says which part of a node is being stopped.
type stages struct {
	mu   sync.Mutex
	what string
	next chan struct{} // closed when another part is stopped
}

func newStages() *stages { return &stages{next: make(chan struct{})} }

// enter notes that a part is being stopped.
func (s *stages) enter(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.what = what
	close(s.next)
	s.next = make(chan struct{})
}

func (s *stages) now() (what string, next <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.what, s.next
}

// bounded returns what run returns, or ErrHung once run has been in one stage of stopping for longer than patience.
func bounded(s *stages, patience time.Duration, run func() error) error {
	ended := make(chan error, 1)
	_, next := s.now() // before anything can be stopped
	go func() { ended <- run() }()
	select {
	case err := <-ended:
		return err
	case <-next:
	}
	for {
		what, next := s.now()
		timer := time.NewTimer(patience)
		select {
		case err := <-ended:
			timer.Stop()
			return err
		case <-next:
			timer.Stop()
		case <-timer.C:
			return fmt.Errorf("%s: %w within %v: perhaps one of the node's disks does not answer",
				what, ErrHung, patience)
		}
	}
}

// runParts starts the parts in their order and returns when the context ends or one of them does. They are then stopped
// in the reverse order, each one wholly before the next; the first error that is not the context's is returned. An
// error that only says that consensus is stopped is not what to return when another part says why.
func runParts(ctx context.Context, log *slog.Logger, stop *stages, started func(), parts ...part) error {
	type ended struct {
		name string
		err  error
	}
	type running struct {
		cancel context.CancelFunc
		done   chan struct{}
	}
	ends := make(chan ended, len(parts))
	var up []running
	for _, p := range parts {
		own, cancel := context.WithCancel(context.WithoutCancel(ctx))
		r := running{cancel: cancel, done: make(chan struct{})}
		go func() {
			defer close(r.done)
			err := p.run(own)
			if own.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
				err = nil
			} else if err == nil {
				err = errors.New("stopped while the node was running")
			}
			ends <- ended{p.name, err}
		}()
		up = append(up, r)
	}
	started()
	var first error
	select {
	case <-ctx.Done():
	case e := <-ends:
		first = fmt.Errorf("%s: %w", e.name, e.err)
		log.Error("a part of the node ended", "part", e.name, "error", e.err)
	}
	for i := len(up) - 1; i >= 0; i-- {
		stop.enter(parts[i].name)
		up[i].cancel()
		<-up[i].done
		log.Debug("part stopped", "part", parts[i].name)
	}
	for range len(ends) {
		e := <-ends
		follows := errors.Is(first, raft.ErrStopped) && !errors.Is(e.err, raft.ErrStopped)
		if e.err != nil && (first == nil || follows) {
			first = fmt.Errorf("%s: %w", e.name, e.err)
		}
	}
	return first
}
