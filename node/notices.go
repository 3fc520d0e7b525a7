package node

import (
	"os"
	"time"

	"holdfast/catalog"
	"holdfast/crawler/fetch"
	"holdfast/node/figures"
	"holdfast/node/logbook"
	"holdfast/node/notices"
	"holdfast/notice"
)

// telling are the parts of a node by which people are told what goes on and what goes wrong.
type telling struct {
	notices *notices.Notices
	hooks   notices.Hooks
	book    *logbook.Book    // the node's log
	figures *figures.Figures // over time
}

// openNotices makes the parts of a node by which people are told.
func openNotices(n *Node) error {
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
