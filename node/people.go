package node

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"holdfast/catalog"
	"holdfast/crawler/fetch"
	"holdfast/internal/words"
	"holdfast/node/archive"
	"holdfast/node/front"
	"holdfast/node/notices"
	"holdfast/node/pages"
	"holdfast/node/session"
	"holdfast/node/warrant"
	"holdfast/notice"
	"holdfast/replay"
)

// openTrust makes what knows in whose name a request is, and who is signed in.
func (n *Node) openTrust() error {
	id, err := n.cfg.OwnIdentity()
	if err != nil {
		return err
	}
	n.warrants = warrant.Warrants{Self: n.id, View: n.raft.View, Now: time.Now, Own: n.token.Text,
		Trusts: func(m catalog.Member) (catalog.Role, bool) { return n.cfg.LocalRole(m.Name) }}
	propose := func(ctx context.Context, kind catalog.Kind, body any) error {
		_, err := n.raft.Propose(ctx, kind, body, string(n.id))
		return err
	}
	n.warrants.Uses = &warrant.Uses{View: n.raft.View, Now: time.Now, Log: n.log, Propose: propose}
	n.sessions = session.New(session.Config{Self: n.id, Key: id.Key, View: n.raft.View,
		Local: func(v catalog.View, id catalog.NodeID) (catalog.AccessToken, error) {
			if id == n.id {
				return n.token.Access()
			}
			return n.warrants.LocalOf(v, id)
		},
		Pages:   func() error { return pages.Served(front.OriginsOf(n.cfg.Config)) },
		Propose: n.agreed.Decide, Used: n.warrants.Uses.Note, Now: time.Now, Log: n.log.With("room", "session")})
	n.warrants.Session = n.sessions.Of
	return nil
}

// openNotices makes the parts of a node by which people are told.
func (n *Node) openNotices() error {
	key, err := n.cfg.SealKey(n.disk)
	if err != nil {
		return err
	}
	texts, err := n.cfg.Texts(n.log)
	if err != nil {
		return err
	}
	secrets := notices.Secrets{Self: n.id, Key: key, View: n.raft.View}
	for _, id := range n.cfg.SecretsTo {
		secrets.Only = append(secrets.Only, catalog.NodeID(id))
	}
	office := &notices.Office{Name: n.cfg.Name, Secrets: secrets, Public: fetch.Public, Out: os.Stderr, Words: texts,
		Zones: time.LoadLocation, Now: time.Now, PasswordFile: n.cfg.Notices.PasswordFile,
		Pages: func() string { return n.cfg.PagesURL.String() }}
	if s := &n.cfg.Notices; s.SMTP != "" {
		office.Mail = &notice.Mail{Server: s.SMTP, Security: notice.Security(s.Security), Sender: s.From, User: s.User}
	}
	n.hooks = notices.Hooks{Secrets: secrets, Texts: texts}
	n.notices = notices.New(notices.Config{Self: n.id, Name: n.cfg.Name, Agreement: n.raft, Alive: n.isAlive,
		Quorum: func() bool { return n.raft.Status().Quorum }, Now: n.clocks.Now, Zones: time.LoadLocation,
		Post: office, Secrets: secrets, Heartbeat: notices.Heartbeat(n.cfg.Notices.Heartbeat),
		AuditAge: n.cfg.Limits.AuditAlert(), Certificate: n.cfg.Secure.Certificate,
		Log: n.log.With("room", "notices")})
	return nil
}

// replayHandler is the handler of the access port.
func (n *Node) replayHandler(offered *words.Offer) (*replay.Handler, error) {
	incoming := filepath.Join(n.cfg.Data, "incoming")
	cfg := replay.Config{Title: n.roster.Known().Cluster.Name, Spool: incoming, SpoolRoom: func(size int64) bool {
		left, err := n.room.Left(incoming)
		return err == nil && left >= size
	}, Languages: offered, Policy: n.policy.InForce}
	return replay.New(cfg, n.captures, archive.Records{Replica: n.replica}, n.log)
}
