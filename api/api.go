// Package api is Holdfast's HTTP API under /api/v1. Its JSON is described by package wire, and its Go client is package
// client.
//
// Handlers translate: a request becomes a query over the catalog, a proposed command, or a call to the node
// through one of the small interfaces of Backend. What is agreed is answered from the local state, so reading
// works without a quorum; a change that needs one is answered with 503 and says so. A file or job that lies on
// another node is reached by the Backend; clients may ask any node.
//
// Errors are problem+json (RFC 9457), whose type names the reason (see Code). The description of the API is
// served at /openapi.json.
package api

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"holdfast/access"
	"holdfast/alert"
	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/cdx"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// Errors that a Backend's methods return, wrapped or bare, for answers the client acts on: those of package wire. A
// *catalog.Refusal anywhere in the chain is answered with the status of its code.
var (
	ErrNoQuorum    = wire.ErrNoQuorum
	ErrNotFound    = wire.ErrNotFound
	ErrUnavailable = wire.ErrUnavailable
	ErrDigest      = wire.ErrDigest
	ErrNoRoom      = wire.ErrNoRoom
	ErrInvalid     = wire.ErrInvalid
)

// What a Backend's methods answer with goes to the client as it is.
type (
	Audit        = wire.Audit
	SilentNode   = wire.SilentNode
	AuditNode    = wire.AuditNode
	AuditFinding = wire.AuditFinding
	Verification = wire.Verification
	NodeStrays   = wire.NodeStrays
	Stray        = wire.Stray
	IndexStatus  = wire.IndexStatus
	Progress     = wire.Progress
	RunningJob   = wire.RunningJob
	Presence     = wire.Presence
	Listen       = wire.Listen
	Disk         = wire.Disk
	Disks        = wire.Disks
	DiskState    = wire.DiskState
	DiskMove     = wire.DiskMove
	DiskWish     = wire.DiskWish
)

// NodeStatus is what a node knows of itself and, by gossip, of the others.
type NodeStatus struct {
	wire.NodeStatus
	Alerts   []alert.Alert               // what it sees; the wire's Problems and Alerts are made of them
	Presence map[catalog.NodeID]Presence // of every member, this node too
	Lease    time.Duration               // after so long without a word a node's jobs are taken from it
}

// Catalog is the agreed state: read from this node, changed through consensus.
type Catalog interface {
	View(func(catalog.View) error) error
	// Linear returns when View sees all that was committed before the call, or ErrNoQuorum.
	Linear(ctx context.Context) error
	// Propose returns the command's result, in which a refusal is; ErrNoQuorum within seconds when nobody decides.
	Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error)
}

// PutRequest is a file on its way into the archive.
type PutRequest struct {
	Name       catalog.FileName
	Collection catalog.CollectionName
	Size       int64          // -1: not known before the end
	SHA256     catalog.Digest // zero: not known; else the bytes must match it
	Body       io.Reader      // read once, to its end
	Actor      string
}

// Archive puts and gets the archive's files, wherever they lie.
type Archive interface {
	// Put returns when the bytes are on stable storage and the file's entry is agreed. The same name and bytes
	// again are no error. A digest or size that does not match the body is ErrDigest and leaves nothing behind.
	Put(ctx context.Context, put PutRequest) (catalog.File, error)
	// Open reads length bytes at the offset of a verified copy.
	Open(ctx context.Context, name catalog.FileName, offset, length int64) (io.ReadCloser, error)
	// OpenCopy is Open for one replica's copy, which is refused when it is not good.
	OpenCopy(ctx context.Context, name catalog.FileName, from catalog.ReplicaName, offset, length int64) (io.ReadCloser,
		error)
	// Verify reads the copies of these replicas again, each on its own node, and reports the results. Without replicas
	// it reads every copy.
	Verify(ctx context.Context, name catalog.FileName, replicas []catalog.ReplicaName) ([]Verification, error)
}

// Losses declares files lost.
type Losses interface {
	// Lose declares that nobody has the file's bytes. It is refused while a node has them, or does not say that it
	// has not, and if the file's entry is no longer of the given version; version 0 means the entry's version when
	// Lose begins.
	Lose(ctx context.Context, name catalog.FileName, version uint64, reason, actor string) error
	// Undo takes that back: the file's copies are owed again.
	Undo(ctx context.Context, name catalog.FileName, reason, actor string) error
}

// Self is the node that answers.
type Self interface {
	// Status tells what this node knows of itself and of the others; it needs no quorum.
	Status(ctx context.Context) NodeStatus
	// Config returns the node's effective settings, without secrets, as a value that encodes to JSON.
	Config() any
}

// AuditOrder says which copies an audit is to check, and how. The zero value reads all.
type AuditOrder struct {
	Replica catalog.ReplicaName // empty: all
	Kind    string              // as in wire.AuditRequest
	Shard   *catalog.Shard
	Prefix  catalog.FileName
	Files   []catalog.FileName
	Reason  string // for the trail; may be empty
}

// Audits checks copies, each node its own.
type Audits interface {
	Start(ctx context.Context, order AuditOrder, actor string) (Audit, error)
	// List returns the audits that the nodes know of, newest first, and the nodes that did not answer.
	List(ctx context.Context) ([]Audit, []wire.SilentNode, error)

	// Show fails with ErrUnavailable, not ErrNotFound, if a node that did not answer may know the audit.
	Show(ctx context.Context, id string) (Audit, error)

	// Wish carries out what is asked for on all nodes that it reaches; if a node with a part of the audit that has not
	// ended is not among them, it fails with ErrUnavailable and names it.
	Wish(ctx context.Context, id string, wish catalog.JobWish, reason, actor string) (Audit, error)
}

// Unwanted is what lies on the nodes besides the archive: strays, and what was set aside.
type Unwanted interface {
	Strays
	Quarantine
}

// Strays finds bytes on the nodes' disks that the archive neither counts on nor asks for.
type Strays interface {
	List(ctx context.Context) ([]NodeStrays, error) // of every member, including those that do not answer
	// Adopt has a node take bytes that nobody asks for into the archive. ErrNotFound: it has none under the name. A
	// *catalog.Refusal says why they cannot be the file.
	Adopt(ctx context.Context, node catalog.NodeID, a Adoption, actor string) error
	// SetAside has a node move such bytes to its quarantine.
	SetAside(ctx context.Context, node catalog.NodeID, name catalog.FileName, reason, actor string) error
}

// NodeJobs are the jobs that crawl on a node, or why the node did not say so.
type NodeJobs struct {
	Node catalog.NodeID
	Name string
	Jobs []wire.RunningJob // with what the node knows: number, state, reason, progress
	Err  error
}

// Crawls returns the progress of the running jobs, on whichever node they run.
type Crawls interface {
	Progress(ctx context.Context, job catalog.Job) (Progress, error)
	// Running asks every member which jobs crawl there, and how they stand now.
	Running(ctx context.Context) []NodeJobs
	// Log writes the last tail lines of the job's crawl.log, all of them when tail is 0.
	Log(ctx context.Context, job catalog.Job, tail int, w io.Writer) error
	// Order lets the job's crawl carry out an order that is valid. harvest.ErrInvalid: the crawl cannot do that.
	Order(ctx context.Context, job catalog.Job, o act.Order) (harvest.Reply, error)
	// Check reports whether a job can be crawled: its rules and expressions can be compiled, and the programs it
	// needs are installed.
	Check(job harvest.Job) error
}

// Secrets separates a job's secrets from it before the job is agreed, because every node stores what is agreed.
type Secrets interface {
	// Seal returns the job without its secrets, and these sealed to the nodes that crawl, nil when it has none. A
	// *catalog.Refusal or ErrUnavailable when nobody could open them.
	Seal(job harvest.Job) (harvest.Job, *catalog.Secret, error)
}

// Captures finds archived captures, over the nodes that cover the shards, in key order. If some shards could not be
// asked, a *cdx.Incomplete error comes last; the captures before it are valid.
type Captures interface {
	Query(ctx context.Context, query cdx.Query) iter.Seq2[cdx.Capture, error]
}

// Index reports the state of the nodes' indexes, and rebuilds them.
type Index interface {
	Status(ctx context.Context) ([]IndexStatus, error)
	Rebuild(ctx context.Context, node catalog.NodeID, reason, actor string) error // node empty: all
}

// Invites makes join tokens: the text that the operator of a new node is given once, and the part that the catalog
// keeps.
type Invites interface {
	Create(ctx context.Context, replica catalog.ReplicaName, lifetime time.Duration,
		actor string) (text string, token catalog.JoinToken, err error)
}

// Previews says what harvests would do.
type Previews interface {
	// Preview plans the jobs of a harvest as a run that begins now would, and makes none. catalog.ErrNotFound: there is
	// no such harvest.
	Preview(ctx context.Context, number uint64) (wire.HarvestPreview, error)
}

// Proofs are what shows that the archive is as it was.
type Proofs struct {
	Audits  Audits
	Ledgers Ledgers
	Backups Backups
	Checks  CatalogChecks
}

// Backend is everything that the API needs of its node.
type Backend struct {
	Catalog Catalog
	Alerts  Alerts
	Notices Notices
	Archive Archive
	Losses  Losses
	Self    Self
	Proofs
	Strays   Unwanted
	OwnDisks OwnDisks
	Crawls   Crawls
	Ended    Ended
	Secrets  Secrets
	Reading
	Index   Index
	Invites Invites
	Ingests Ingests
	Foresight
	Indexes JobIndexes
	OfNodes
	Batches  Batches
	Now      func() time.Time // nil: time.Now
	Node     catalog.NodeID   // the node that answers
	Used     func(id string)  // an access token was used just now; nil: nobody keeps count
	Sessions Sessions         // nil: nobody signs in here
	// Local returns the token for commands on the node's own machine, as it is now; its id is LocalID, and the catalog
	// does not know it. nil lets nobody in.
	Local func() (catalog.AccessToken, error)
}

// Reading is what captures and files are read through.
type Reading struct {
	Captures Captures
	// Policy returns the access rules in force on this node.
	Policy   func() (access.InForce, error)
	Contents Contents
}

// Contents knows what is in the archive's files.
type Contents interface {
	// Closed returns why the reader may not have a file: something in it that he may not see, or that nobody can tell
	// what is in it; empty if he may.
	Closed(ctx context.Context, file catalog.File, sight *access.Sight) (why string, err error)
}

// Foresight is what would follow from what was not decided yet.
type Foresight struct {
	Previews Previews
	Layouts  Layouts
}

// OfNodes are what each node says about itself.
type OfNodes struct {
	Logs    Logs
	Figures Figures
}

// Limits of requests and answers.
const (
	maxBody     = 1 << 20          // of a JSON body
	requestTime = 30 * time.Second // for an answer that is not a stream
	idleTime    = time.Minute      // without a byte moved, in a stream
)

// server is what all operations stand on: it lets requests in, reads and changes what is agreed, and answers. Each
// subject has operations of its own, with what they need of the node.
type server struct {
	Catalog Catalog // read when the node has received it
	own     Catalog // the Backend's as it is
	self    Self
	id      catalog.NodeID
	now     func() time.Time
	used    func(id string)
	local   func() (catalog.AccessToken, error)
	seen    *watch
	log     *slog.Logger

	sessions Sessions
	policy   func() (access.InForce, error) // nil: nobody is shown any captures or files
}

// The subjects.
type (
	cluster struct {
		*server
		index Index
		disks OwnDisks
	}
	alerts struct {
		*server
		nodes Alerts
	}
	people struct{ *server }
	tokens struct {
		*server
		invites Invites
	}
	files struct {
		*server
		archive  Archive
		losses   Losses
		strays   Strays
		contents Contents
	}
	audits struct {
		*server
		audits Audits
	}
	jobs struct {
		*server
		crawls  Crawls
		ended   Ended
		secrets Secrets
	}
	captures struct {
		*server
		captures Captures
	}
)

// API answers /api/v1/, /openapi.json and /health.
type API struct {
	http.Handler
	server *server
}

// New returns the API over a node.
func New(backend Backend, log *slog.Logger) *API {
	s := newServer(backend, log)
	mux, _ := routes(s, backend, log)
	return &API{forPrograms(mux), s}
}

// forPrograms tells browsers that answers are no pages: they show, run, frame and keep nothing of them, whatever the
// archived bytes in them claim to be.
func forPrograms(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// Watch looks for alerts until ctx ends, so that answers can tell since when they are there.
func (a *API) Watch(ctx context.Context) error { return a.server.watchAlerts(ctx) }

// Seen returns the alerts that this node reads in the agreed state, hears of the others, or alone sees.
func (a *API) Seen(ctx context.Context) ([]alert.Alert, error) {
	_, agreed, own, err := a.server.overview(ctx)
	return slices.Concat(agreed, own), err
}

// newServer returns the server over a node.
func newServer(backend Backend, log *slog.Logger) *server {
	s := &server{Catalog: received{backend.Catalog}, own: backend.Catalog, self: backend.Self, id: backend.Node,
		now: backend.Now, used: backend.Used, local: backend.Local, sessions: backend.Sessions,
		seen: &watch{}, log: log, policy: backend.Policy}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

// propose asks for a change in the name of the caller and decodes the command's value into value, unless nil.
func (s *server) propose(ctx context.Context, kind catalog.Kind, body, value any) error {
	g := guardOf(ctx)
	act, of := kind, body
	kind, body, err := g.wrap(kind, body)
	if err != nil {
		return err
	}
	result, err := s.Catalog.Propose(ctx, kind, body, callerOf(ctx).Actor)
	if err != nil {
		return err
	}
	if result.Refusal != nil && result.Refusal.Code == agree.Unapproved {
		return s.proposeAct(ctx, g, act, of)
	}
	if result.Refusal != nil {
		return result.Refusal
	}
	g.done(result)
	if value == nil || len(result.Value) == 0 {
		return nil
	}
	return json.Unmarshal(result.Value, value)
}

// decide proposes a command whose outcome is shown next: it returns when this node sees what was decided.
func (s *server) decide(ctx context.Context, kind catalog.Kind, body, value any) error {
	if err := s.propose(ctx, kind, body, value); err != nil {
		return err
	}
	return s.Catalog.Linear(ctx)
}
