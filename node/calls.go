package node

import (
	"context"
	"net"

	"holdfast/api"
	"holdfast/batch"
	"holdfast/catalog"
	"holdfast/catalog/people"
	"holdfast/node/figures"
	"holdfast/node/ledgers"
	"holdfast/node/logbook"
	"holdfast/node/lookup"
	"holdfast/node/membership"
	"holdfast/node/runner"
	"holdfast/node/soundness"
	"holdfast/node/status"
	"holdfast/node/warrant"
	"holdfast/node/wire"
	"holdfast/peer"
	"holdfast/replica"
)

// handle names who answers which streams, calls and packets of other nodes.
func (n *Node) handle() {
	p := n.peer
	p.HandleJoin(n.member().Welcome)
	p.Handle(raftStream, peer.Control, func(_ context.Context, from peer.ID, s net.Conn) {
		n.raft.Stream(catalog.NodeID(from), s)
	})
	p.HandleCall(raftCall, func(ctx context.Context, from peer.ID, request []byte) ([]byte, error) {
		return n.raft.Serve(ctx, catalog.NodeID(from), request)
	})
	p.Handle(gossipStream, peer.Control, func(_ context.Context, from peer.ID, s net.Conn) {
		n.gossip.Stream(string(from), s)
	})
	p.Packets(func(from peer.ID, packet []byte) { n.gossip.Packet(string(from), packet) })
	carrier{p}.takes(replica.FileStream, peer.Bulk, n.answers.File)
	carrier{p}.takes(lookup.Stream, peer.Control, n.captures.Serve)
	carrier{p}.takes(runner.LogStream, peer.Bulk, func(_ context.Context, from catalog.NodeID, s net.Conn) {
		n.crawls.ServeLog(from, s, func(token string) error {
			_, err := n.warrants.Check(from, token, warrant.Deed{Act: catalog.Look})
			return err
		})
	})
	carrier{p}.takes(batch.TaskStream, peer.Bulk, n.batches.Serve)
	carrier{p}.takes(batch.ResultStream, peer.Bulk, n.allBatches.ServeResult)
	carrier{p}.answers(replica.ChecksumCall, wire.Answer(replica.ChecksumCall, n.answers.Checksum))
	carrier{p}.answers(replica.ChallengeCall, wire.Answer(replica.ChallengeCall, n.answers.Challenge))
	carrier{p}.answers(lookup.DigestCall, n.captures.AnswerDigest())
	carrier{p}.answers(membership.MembersCall, n.roster.AnswerMembers())
	carrier{p}.answers(membership.ClockCall, n.clocks.AnswerClock())
	carrier{p}.answers(ledgers.PageCall, wire.Answer(ledgers.PageCall, n.ledgers.Page))
	carrier{p}.answers(ledgers.KeepCall, wire.Answer(ledgers.KeepCall, n.ledgers.Keep))
	carrier{p}.answers(ledgers.SignCall, wire.Answer(ledgers.SignCall, n.ledgers.Sign))
	carrier{p}.answers(runner.PaceCall, n.crawls.AnswerPace())
	n.handleActs()
}

// handleActs names who answers what people and programs ask through another node.
func (n *Node) handleActs() {
	to, w, own := carrier{n.peer}, n.warrants, n.answers
	look := warrant.Deed{Act: catalog.Look}
	to.answers(replica.VerifyCall, warrant.Answer(w, replica.VerifyCall,
		func(catalog.FileName) warrant.Deed { return w.Here(catalog.CheckCopies) }, warrant.Whoever(own.Verify)))
	to.answers(replica.RereadCall, warrant.Answer(w, replica.RereadCall,
		func(catalog.FileName) warrant.Deed { return w.Here(catalog.CheckCopies) }, warrant.Whoever(own.Reread)))
	to.answers(replica.FindCall, warrant.Answer(w, replica.FindCall,
		func(replica.Held) warrant.Deed { return w.Here(catalog.CheckCopies) }, warrant.Whoever(own.Find)))
	to.answers(replica.StraysCall, warrant.Answer(w, replica.StraysCall,
		func(struct{}) warrant.Deed { return warrant.Deed{Act: catalog.LookAtDisks} }, warrant.Whoever(own.Strays)))
	to.answers(replica.StrayCall, warrant.Answer(w, replica.StrayCall,
		func(r replica.StrayRequest) warrant.Deed {
			d := w.Here(catalog.CheckCopies)
			if r.Collection != "" { // a new file of it
				d.Where.Collections = []catalog.CollectionName{r.Collection}
			}
			return d
		}, own.Stray))
	to.answers(replica.QuarantineCall, warrant.Answer(w, replica.QuarantineCall,
		func(r replica.AsideRequest) warrant.Deed {
			if r.Act == "list" {
				return warrant.Deed{Act: catalog.LookAtDisks}
			}
			return w.Here(catalog.CheckCopies)
		}, warrant.Whoever(own.Quarantine)))
	to.answers(replica.AuditCall, warrant.Answer(w, replica.AuditCall, func(r replica.AuditRequest) warrant.Deed {
		if r.Act == "list" {
			return look
		}
		return w.Here(catalog.CheckCopies)
	}, warrant.Whoever(own.Audit)))
	to.answers(lookup.IndexCall, warrant.Answer(w, lookup.IndexCall, func(r lookup.IndexRequest) warrant.Deed {
		if r.Rebuild {
			return w.Here(catalog.RebuildIndex)
		}
		return look
	}, warrant.Whoever(n.indexes.Serve)))
	to.answers(runner.ProgressCall, warrant.Answer(w, runner.ProgressCall,
		func(uint64) warrant.Deed { return look }, warrant.Whoever(n.jobs.ServeProgress)))
	to.answers(runner.RunningCall, warrant.Answer(w, runner.RunningCall,
		func(struct{}) warrant.Deed { return look }, warrant.Whoever(n.jobs.ServeRunning)))
	to.answers(status.AlertsCall, warrant.Answer(w, status.AlertsCall,
		func(struct{}) warrant.Deed { return look }, warrant.Whoever(n.alerts.Serve)))
	to.answers(status.BackupsCall, warrant.Answer(w, status.BackupsCall,
		func(struct{}) warrant.Deed { return look }, warrant.Whoever(n.alerts.ServeBackup)))
	to.answers(batch.ProgressCall, warrant.Answer(w, batch.ProgressCall,
		func(string) warrant.Deed { return look }, warrant.Whoever(n.allBatches.ServeProgress)))
	to.answers(ledgers.MakeCall, warrant.Answer(w, ledgers.MakeCall,
		func(struct{}) warrant.Deed { return w.Here(catalog.CheckCopies) }, n.ledgers.Begin))
	to.answers(ledgers.StateCall, warrant.Answer(w, ledgers.StateCall,
		func(struct{}) warrant.Deed { return look }, warrant.Whoever(n.ledgers.State)))
	whole := warrant.Deed{Act: people.BackUp}
	to.answers(soundness.PinCall, warrant.Answer(w, soundness.PinCall,
		func(struct{}) warrant.Deed { return whole }, warrant.Whoever(n.sound.Pin)))
	to.answers(soundness.CheckCall, warrant.Answer(w, soundness.CheckCall,
		func(soundness.Request) warrant.Deed { return whole }, warrant.Whoever(n.sound.Begin)))
	to.answers(soundness.StateCall, warrant.Answer(w, soundness.StateCall,
		func(struct{}) warrant.Deed { return whole }, warrant.Whoever(n.sound.State)))
	to.answers(logbook.LinesCall, warrant.Answer(w, logbook.LinesCall,
		func(api.LogQuery) warrant.Deed { return w.Here(catalog.LookAtNode) }, warrant.Whoever(n.books.ServeLines)))
	to.answers(logbook.RaiseCall, warrant.Answer(w, logbook.RaiseCall,
		func(logbook.RaiseRequest) warrant.Deed { return w.Here(catalog.ChangeNode) }, n.books.ServeRaise))
	to.answers(figures.Call, warrant.Answer(w, figures.Call,
		func(figures.Request) warrant.Deed { return look }, warrant.Whoever(n.overTime.Serve)))
	to.answers(runner.OrderCall, warrant.Answer(w, runner.OrderCall, func(r runner.OrderRequest) warrant.Deed {
		act, where := n.jobs.Needs(r)
		return warrant.Deed{Act: act, Where: where}
	}, n.jobs.ServeOrder))
}
