package node

import (
	"context"
	"net"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/harvest"
	"holdfast/node/lookup"
	"holdfast/node/membership"
	"holdfast/node/runner"
	"holdfast/node/warrant"
	"holdfast/node/wire"
	"holdfast/peer"
	"holdfast/replica"
)

// handle names who answers which streams, calls and packets of other nodes.
func (n *Node) handle() {
	p := n.peer
	p.HandleJoin(n.member().Welcome)
	p.Handle(raftStream, peer.Control, func(_ context.Context, from peer.ID, s net.Conn) { n.raft.Stream(catalog.NodeID(from), s) })
	p.HandleCall(raftCall, func(ctx context.Context, from peer.ID, request []byte) ([]byte, error) {
		return n.raft.Serve(ctx, catalog.NodeID(from), request)
	})
	p.Handle(gossipStream, peer.Control, func(_ context.Context, from peer.ID, s net.Conn) { n.gossip.Stream(string(from), s) })
	p.Packets(func(from peer.ID, packet []byte) { n.gossip.Packet(string(from), packet) })
	carrier{p}.takes(replica.FileStream, peer.Bulk, n.answers().File)
	carrier{p}.takes(lookup.Stream, peer.Control, n.captures.Serve)
	carrier{p}.takes(runner.LogStream, peer.Bulk, func(_ context.Context, from catalog.NodeID, s net.Conn) {
		n.crawls.ServeLog(from, s, func(token string) error {
			_, err := n.warrants.Check(from, token, warrant.Deed{Act: catalog.Look})
			return err
		})
	})
	carrier{p}.answers(replica.ChecksumCall, wire.Answer(replica.ChecksumCall, n.answers().Checksum))
	carrier{p}.answers(lookup.DigestCall, n.captures.AnswerDigest())
	carrier{p}.answers(membership.MembersCall, n.roster.AnswerMembers())
	carrier{p}.answers(membership.ClockCall, n.clocks.AnswerClock())
	carrier{p}.answers(runner.PaceCall, n.crawls.AnswerPace())
	n.handleActs()
}

// handleActs names who answers what people and programs ask through another node.
func (n *Node) handleActs() {
	to, w, own := carrier{n.peer}, n.warrants, n.answers()
	look := warrant.Deed{Act: catalog.Look}
	to.answers(replica.VerifyCall, warrant.Answer(w, replica.VerifyCall,
		func(catalog.FileName) warrant.Deed { return w.Here(catalog.CheckCopies) }, warrant.Whoever(own.Verify)))
	to.answers(replica.FindCall, warrant.Answer(w, replica.FindCall,
		func(replica.Held) warrant.Deed { return w.Here(catalog.CheckCopies) }, warrant.Whoever(own.Find)))
	to.answers(replica.StraysCall, warrant.Answer(w, replica.StraysCall,
		func(struct{}) warrant.Deed { return warrant.Deed{Act: catalog.LookAtDisks} }, warrant.Whoever(own.Strays)))
	to.answers(replica.AuditCall, warrant.Answer(w, replica.AuditCall, func(r replica.AuditRequest) warrant.Deed {
		if r.Act == "list" {
			return look
		}
		return w.Here(catalog.CheckCopies)
	}, warrant.Whoever(own.Audit)))
	to.answers(indexCall, warrant.Answer(w, indexCall, func(r indexRequest) warrant.Deed {
		if r.Rebuild {
			return w.Here(catalog.RebuildIndex)
		}
		return look
	}, warrant.Whoever(n.indexes().serve)))
	to.answers(runner.ProgressCall, warrant.Answer(w, runner.ProgressCall,
		func(uint64) warrant.Deed { return look }, warrant.Whoever(n.jobs().serveProgress)))
	to.answers(runner.OrderCall, warrant.Answer(w, runner.OrderCall, n.deedOf,
		func(ctx context.Context, from catalog.NodeID, by string, r runner.OrderRequest) (harvest.Reply, error) {
			if by != "" && !r.Order.Reads() {
				r.Order.By = by
			}
			return n.crawls.Order(ctx, from, r)
		}))
}

// deedOf is what an order asks for, in the collection of its job. Where that is not known, only who may do it
// everywhere may.
func (n *Node) deedOf(r runner.OrderRequest) warrant.Deed {
	d := warrant.Deed{Act: api.ActOf(r.Order), Where: catalog.Where{Collections: []catalog.CollectionName{""}}}
	_ = n.raft.View(func(v catalog.View) error {
		job, err := v.Job(r.Job)
		d.Where.Collections[0] = job.Collection
		return err
	})
	return d
}
