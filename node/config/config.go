// Package config reads and checks cluster.toml, the description of the whole cluster, and derives the settings that a
// node runs with.
package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// File is a cluster.toml: one description of a whole cluster, the same on every node.
type File struct {
	Cluster     string         `toml:"cluster"`     // the cluster's name, for people
	Profile     string         `toml:"profile"`     // "lan", "wan" or "local": how patient gossip and Raft are
	Collections []string       `toml:"collections"` // what files may belong to
	Settings                   // hold for all nodes
	Replicas    []ReplicaTable `toml:"replica"`
	Nodes       []NodeTable    `toml:"node"`

	path string
}

// ReplicaTable is one [[replica]]: a set of the archive at one place. Its settings override the file's.
type ReplicaTable struct {
	Name        string   `toml:"name"`
	Kind        string   `toml:"kind"`        // "bitarchive" or "checksum"
	Place       string   `toml:"place"`       // where its nodes are and fail together; the replica's name if empty
	Collections []string `toml:"collections"` // those it is meant to hold; none = all
	Settings
}

// NodeTable is one [[node]]. Its settings override its replica's.
type NodeTable struct {
	Name      string   `toml:"name"`
	Replica   string   `toml:"replica"`
	Addresses []string `toml:"addresses"` // host:port at which the others reach its peer port, inside first
	OutOnly   bool     `toml:"out-only"`  // it can only dial out, and never votes
	Weight    int      `toml:"weight"`    // its share of its replica's shards against its neighbours, 100 if not given
	Settings
}

// Settings can be given for all nodes, for a replica's, or for one; the more specific setting counts.
type Settings struct {
	Data *string `toml:"data"` // the node's folder; <node> stands for its name
	// folders for the archive's files, one a disk; <data>/files if not given
	Files   []string `toml:"files"`
	Peer    *string  `toml:"peer"`    // UDP address of the peer port
	Memory  *Bytes   `toml:"memory"`  // limit that the Go runtime tries to stay under
	Reserve *Bytes   `toml:"reserve"` // bytes to leave free on each disk; at least 192MiB are
	// bytes per second of a replica (given for a node: of the node) for copying from others; 0 = no limit
	Bandwidth *Bytes `toml:"bandwidth"`
	// bytes per second of a replica (given for a node: of the node) for what others copy from it; 0 = no limit
	Giving *Bytes `toml:"bandwidth-out"`
	// bytes per second that audits, and moves between disks, read; 0 = no limit
	AuditPace  *Bytes    `toml:"audit-pace"`
	AuditEvery *Duration `toml:"audit-every"` // how long a full audit pass may take; 0 = only when asked for
	AuditSettings
	Crawls   *int      `toml:"crawls"`   // jobs crawled at once; 0 = this node crawls nothing
	Channels []string  `toml:"channels"` // of harvests, whose jobs this node takes
	Lease    *Duration `toml:"lease"`    // how long a job continues without contact to a leader
	// of decisions kept for members that were away; beyond, they get the whole state
	RaftLog   *Bytes    `toml:"raft-log"`
	FilesMode *FileMode `toml:"files-mode"` // permissions of the archive's files, in octal
	// the institution, in the URIs of the records that document a job
	Organization *string `toml:"organization"`

	LogSettings
	BatchSettings
	PortSettings
	NoticeSettings
	OpenIDSettings
	BackupSettings
	LocalToken *string `toml:"local-token"` // rights of a local token on other nodes: a role, or none
	// ids of the nodes that this one seals secrets to; none = all that crawl
	SecretsTo []string `toml:"secrets-to"`
	LanguageSettings
}

// LogSettings are the Settings of a node's log.
type LogSettings struct {
	LogLevel    *string `toml:"log-level"`     // debug, info, warn or error
	LogFormat   *string `toml:"log-format"`    // "text" or "json", on standard error and in the files
	OTLPURL     *string `toml:"otlp-url"`      // of the collector that traces are sent to; none: none are
	LogFileSize *Bytes  `toml:"log-file-size"` // most bytes of one of the files in <data>/log
	LogFiles    *int    `toml:"log-files"`     // how many of them are kept; 0 = none is written
}

// BatchSettings are the Settings of what batches take of a node.
type BatchSettings struct {
	BatchFiles  *int   `toml:"batch-files"`  // files that programs process here at once
	BatchPace   *Bytes `toml:"batch-pace"`   // bytes per second that programs read here; 0 = no limit
	BatchMemory *Bytes `toml:"batch-memory"` // bytes that a program may keep of what it reads
}

// PortSettings are the Settings of the TCP ports.
type PortSettings struct {
	API            *string `toml:"api"`             // TCP address of the API
	Access         *string `toml:"access"`          // TCP address of replay and CDX
	Certificate    *string `toml:"certificate"`     // PEM file for HTTPS on the API and access ports
	CertificateKey *string `toml:"certificate-key"` // PEM file with its key
	// addresses from which plain HTTP is taken and X-Forwarded-For believed
	TrustedProxies []string `toml:"trusted-proxies"`
	PagesURL       *Origin  `toml:"pages-url"`  // where browsers reach the API port, for the archivists' pages
	AccessURL      *Origin  `toml:"access-url"` // where browsers reach the access port
	// how long readers are answered by access rules that no quorum confirms
	AccessAge *Duration `toml:"access-age"`
}

// Config is what one node runs with: its settings, and the tables that it belongs to.
type Config struct {
	Name       string
	Data       string // the node's folder
	Replica    ReplicaTable
	Table      NodeTable
	File       *File
	Listen     Listen
	Secure     Secure
	PagesURL   Origin // where browsers reach the archivists' pages, if the settings say so
	AccessURL  Origin // the same of captures
	LocalToken string // what this node's local token may do on other nodes: a role, or none
	Files      []string
	Limits     Limits
	Notices    Notices
	Backups    Backups  // of the catalog
	Traces     string   // URL of the collector that they are sent to; empty: none are
	OpenID     OpenID   // where people sign in with the account of their institution
	SecretsTo  []string // that this node seals secrets to; none = all that crawl
	Channels   []string // of harvests, whose jobs this node takes
	Languages  []string // of the pages that readers see, the default first
	// LanguageFiles is a folder of language files to lay over the program's; empty: none.
	LanguageFiles string
	// Organization is the host in the URIs of metadata records, such as metadata://example.org/crawl/….
	Organization string
	// Dates gives the time by which harvests come due, at a time of the members' clocks; nil: the same. Trials let
	// it pass faster. It must not be later than the time that it is given.
	Dates func(now time.Time) time.Time

	proxies []string // as given
}

// Listen holds the addresses a node listens on.
type Listen struct {
	Peer   string // UDP
	API    string // TCP
	Access string // TCP
}

// Limits bound what a node uses.
type Limits struct {
	Memory       Bytes    // of the Go runtime
	Reserve      Bytes    // left free on each disk
	Bandwidth    Bytes    // per second, of this node, 0 = no limit
	Giving       Bytes    // per second, what others copy from this node, 0 = no limit
	AuditPace    Bytes    // per second, 0 = no limit
	AuditEvery   Duration // 0 = only when asked for
	Presence     Duration // between looks at which files are there, 0 = only when asked for
	AuditHours   Hours
	Challenges   float64  // share of the copies, 0 to 1
	AuditAge     Duration // of the last full reading of a shard, 0 = no alert
	LedgerEvery  Duration // 0 = only when asked for
	RebuildAfter Duration // of a silent node's shards; 0 = never
	DiskGrace    Duration // before the shards of a disk that is away are made again; 0 = never
	Crawls       int      // at once
	Lease        Duration // of a job
	RaftLog      Bytes    // of the Raft log, kept behind a marker
	LogLevel     string
	LogFormat    string   // "text" or "json"
	LogSize      Bytes    // of one log file
	LogFiles     int      // log files that are kept; 0 = none is written
	FilesMode    FileMode // of the archive's files
	BatchFiles   int      // that programs process at once
	BatchPace    Bytes    // per second, that programs read, 0 = no limit
	BatchMem     Bytes    // that a program may keep of what it reads
	AccessAge    Duration // of access rules that no quorum confirms, by which readers are still answered
}

// ErrConfig reports a cluster.toml that cannot be used; the error's text names the line and suggests what was meant.
var ErrConfig = errors.New("configuration")

// Load reads and checks a cluster.toml. An unknown key or a bad value is an error that wraps ErrConfig and
// names the line.
func Load(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	f, err := Parse(path, string(text))
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Parse reads and checks the text of a cluster.toml; path is only named in errors.
func Parse(path, text string) (*File, error) {
	f := &File{path: path}
	meta, err := toml.Decode(text, f)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrConfig, describe(path, err))
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return nil, fmt.Errorf("%w: %s", ErrConfig, unknownKey(path, text, unknown[0]))
	}
	if err := f.check(text); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrConfig, path, err)
	}
	return f, nil
}

func (f *File) check(text string) error {
	if f.Cluster == "" {
		return errors.New("cluster: the cluster needs a name, as in: cluster = \"example\"")
	}
	if !slices.Contains([]string{"", "lan", "wan", "local"}, f.Profile) {
		return fmt.Errorf("%sprofile %q: want \"lan\", \"wan\" or \"local\"", at(text, "profile", f.Profile), f.Profile)
	}
	if err := f.checkReplicas(text); err != nil {
		return err
	}
	if err := f.checkLanguages(text); err != nil {
		return err
	}
	names := map[string]bool{}
	for _, n := range f.Nodes {
		where := at(text, "name", n.Name)
		switch {
		case n.Name == "":
			return errors.New("a [[node]] has no name")
		case names[n.Name]:
			return fmt.Errorf("%snode %q is defined twice", where, n.Name)
		case f.replica(n.Replica) == nil:
			return fmt.Errorf("%snode %s: %s", at(text, "replica", n.Replica), n.Name,
				suggest("replica", n.Replica, f.replicaNames()))
		case n.Weight < 0 || n.Weight > maxWeight:
			return fmt.Errorf("%snode %s: weight %d: want 1 to %d", at(text, "weight", ""), n.Name, n.Weight, maxWeight)
		}
		names[n.Name] = true
		if _, err := f.Node(n.Name); err != nil {
			return fmt.Errorf("%snode %s: %w", where, n.Name, err)
		}
	}
	return nil
}

func (f *File) checkReplicas(text string) error {
	names := map[string]bool{}
	for _, r := range f.Replicas {
		where := at(text, "name", r.Name)
		switch {
		case r.Name == "":
			return errors.New("a [[replica]] has no name")
		case names[r.Name]:
			return fmt.Errorf("%sreplica %q is defined twice", where, r.Name)
		case r.Kind != "bitarchive" && r.Kind != "checksum":
			return fmt.Errorf("%sreplica %s: %s", at(text, "kind", r.Kind), r.Name,
				suggest("kind", r.Kind, []string{"bitarchive", "checksum"}))
		}
		names[r.Name] = true
		for _, c := range r.Collections {
			if !slices.Contains(f.AllCollections(), c) {
				return fmt.Errorf("%sreplica %s: %s", where, r.Name, suggest("collection", c, f.AllCollections()))
			}
		}
	}
	return nil
}

// AllCollections returns the collections, "web" when none is given.
func (f *File) AllCollections() []string {
	if len(f.Collections) == 0 {
		return []string{"web"}
	}
	return f.Collections
}

func (f *File) replica(name string) *ReplicaTable {
	for i := range f.Replicas {
		if f.Replicas[i].Name == name {
			return &f.Replicas[i]
		}
	}
	return nil
}

func (f *File) replicaNames() []string {
	var names []string
	for _, r := range f.Replicas {
		names = append(names, r.Name)
	}
	return names
}

// nodesOf returns how many nodes the replica has in the file.
func (f *File) nodesOf(replica string) int {
	count := 0
	for _, n := range f.Nodes {
		if n.Replica == replica {
			count++
		}
	}
	return count
}

// NodeNames returns the names of the file's nodes in their order.
func (f *File) NodeNames() []string {
	var names []string
	for _, n := range f.Nodes {
		names = append(names, n.Name)
	}
	return names
}

// Bandwidths returns the bytes/s at which the named node takes and gives copies; 0 for no limit, and for a node that
// the file does not have.
func (f *File) Bandwidths(name string) (takes, gives int64) {
	c, err := f.Node(name)
	if err != nil {
		return 0, 0
	}
	return int64(c.Limits.Bandwidth), int64(c.Limits.Giving)
}

// Node returns the settings that the named node runs with.
func (f *File) Node(name string) (Config, error) {
	i := slices.IndexFunc(f.Nodes, func(n NodeTable) bool { return n.Name == name })
	if i < 0 {
		return Config{}, fmt.Errorf("%w: %s: %s", ErrConfig, f.path, suggest("node", name, f.NodeNames()))
	}
	n := f.Nodes[i]
	r := f.replica(n.Replica)
	if r == nil {
		return Config{}, fmt.Errorf("%w: %s: node %s: no replica %q", ErrConfig, f.path, name, n.Replica)
	}
	c := Config{Name: name, Replica: *r, Table: n, File: f}
	if c.Replica.Place == "" {
		c.Replica.Place = r.Name
	}
	c.resolve(Defaults(), f.Settings, r.Settings, n.Settings)
	if n.Bandwidth == nil && c.Limits.Bandwidth > 0 { // the replica's nodes share what it is given; 0 would be no limit
		c.Limits.Bandwidth = max(1, c.Limits.Bandwidth/Bytes(f.nodesOf(r.Name)))
	}
	if n.Giving == nil && c.Limits.Giving > 0 {
		c.Limits.Giving = max(1, c.Limits.Giving/Bytes(f.nodesOf(r.Name)))
	}
	c.Limits.Reserve = max(c.Limits.Reserve, leastReserve)
	if err := c.check(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// resolve applies the layers, the later over the earlier.
func (c *Config) resolve(layers ...Settings) {
	for _, s := range layers {
		set(&c.Data, s.Data)
		set(&c.Listen.Peer, s.Peer)
		set(&c.Listen.API, s.API)
		set(&c.Listen.Access, s.Access)
		set(&c.Limits.Memory, s.Memory)
		set(&c.Limits.Reserve, s.Reserve)
		set(&c.Limits.Bandwidth, s.Bandwidth)
		set(&c.Limits.Giving, s.Giving)
		set(&c.Limits.AuditPace, s.AuditPace)
		set(&c.Limits.AuditEvery, s.AuditEvery)
		c.Limits.resolveAudits(&s.AuditSettings)
		set(&c.Limits.Crawls, s.Crawls)
		set(&c.Limits.AccessAge, s.AccessAge)
		set(&c.Limits.Lease, s.Lease)
		set(&c.Limits.RaftLog, s.RaftLog)
		set(&c.LocalToken, s.LocalToken)
		set(&c.Secure.Certificate, s.Certificate)
		set(&c.Secure.CertificateKey, s.CertificateKey)
		set(&c.PagesURL, s.PagesURL)
		set(&c.AccessURL, s.AccessURL)
		set(&c.Limits.LogLevel, s.LogLevel)
		set(&c.Limits.LogFormat, s.LogFormat)
		set(&c.Traces, s.OTLPURL)
		set(&c.Limits.LogSize, s.LogFileSize)
		set(&c.Limits.LogFiles, s.LogFiles)
		set(&c.Limits.BatchFiles, s.BatchFiles)
		set(&c.Limits.BatchPace, s.BatchPace)
		set(&c.Limits.BatchMem, s.BatchMemory)
		if s.TrustedProxies != nil {
			c.proxies = s.TrustedProxies
		}
		if s.SecretsTo != nil {
			c.SecretsTo = slices.Clone(s.SecretsTo)
		}
		if s.Channels != nil {
			c.Channels = slices.Clone(s.Channels)
		}
		if s.Languages != nil {
			c.Languages = slices.Clone(s.Languages)
		}
		set(&c.LanguageFiles, s.LanguageFiles)
		set(&c.Limits.FilesMode, s.FilesMode)
		set(&c.Organization, s.Organization)
		c.Notices.resolve(&s.NoticeSettings)
		c.OpenID.resolve(&s.OpenIDSettings)
		c.Backups.resolve(&s.BackupSettings)
		if len(s.Files) > 0 {
			c.Files = s.Files
		}
	}
	c.Data = filepath.Clean(strings.ReplaceAll(c.Data, "<node>", c.Name))
	c.Backups.Folder = strings.ReplaceAll(c.Backups.Folder, "<node>", c.Name)
	if len(c.Files) == 0 {
		c.Files = []string{filepath.Join(c.Data, "files")}
	}
	c.Files = slices.Clone(c.Files)
	for i := range c.Files {
		c.Files[i] = strings.ReplaceAll(c.Files[i], "<node>", c.Name)
	}
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// Write writes the settings that hold for the node as TOML, for `config show`.
func (c Config) Write(w io.Writer) error {
	if c.OpenID.Issuer == "" {
		c.OpenID = OpenID{}
	}
	shown := struct {
		Name      string   `toml:"name"`
		Org       string   `toml:"organization"`
		Replica   string   `toml:"replica"`
		Kind      string   `toml:"kind"`
		Place     string   `toml:"place"`
		Data      string   `toml:"data"`
		Files     []string `toml:"files"`
		Peer      string   `toml:"peer"`
		API       string   `toml:"api"`
		Access    string   `toml:"access"`
		Addresses []string `toml:"addresses"`
		Cert      string   `toml:"certificate,omitempty"`
		CertKey   string   `toml:"certificate-key,omitempty"`
		Proxies   []string `toml:"trusted-proxies,omitempty"`
		PagesURL  string   `toml:"pages-url,omitempty"`
		AccessURL string   `toml:"access-url,omitempty"`
		Limits    Limits   `toml:"limits"`

		SecretsTo []string `toml:"secrets-to,omitempty"`
		Channels  []string `toml:"channels"`
		Languages []string `toml:"languages"`
		Folder    string   `toml:"language-files,omitempty"`
		Traces    string   `toml:"otlp-url,omitempty"`

		SMTP      string `toml:"smtp,omitempty"`
		Security  string `toml:"smtp-tls,omitempty"`
		From      string `toml:"smtp-from,omitempty"`
		User      string `toml:"smtp-user,omitempty"`
		Password  string `toml:"smtp-password-file,omitempty"`
		Heartbeat string `toml:"heartbeat-url,omitempty"`

		Issuer string      `toml:"openid-issuer,omitempty"`
		Client string      `toml:"openid-client,omitempty"`
		Secret string      `toml:"openid-secret-file,omitempty"`
		Called string      `toml:"openid-name,omitempty"`
		Scopes []string    `toml:"openid-scopes,omitempty"`
		Claim  string      `toml:"openid-groups-claim,omitempty"`
		Groups []GroupRule `toml:"openid-groups,omitempty"`
		Create bool        `toml:"openid-create,omitempty"`
	}{c.Name, c.Organization, c.Replica.Name, c.Replica.Kind, c.Replica.Place, c.Data, c.Files, c.Listen.Peer,
		c.Listen.API, c.Listen.Access, c.Table.Addresses, c.Secure.Certificate, c.Secure.CertificateKey, c.proxies,
		c.PagesURL.String(), c.AccessURL.String(), c.Limits, c.SecretsTo, c.Channels, c.Languages, c.LanguageFiles,
		c.Traces, c.Notices.SMTP, c.Notices.shownSecurity(), c.Notices.From, c.Notices.User, c.Notices.PasswordFile,
		shownURL(c.Notices.Heartbeat), c.OpenID.Issuer, c.OpenID.Client, c.OpenID.SecretFile, c.OpenID.Name,
		c.OpenID.Scopes, c.OpenID.Claim, c.OpenID.Groups, c.OpenID.Create}
	if err := toml.NewEncoder(w).Encode(shown); err != nil {
		return fmt.Errorf("write the settings of %s: %w", c.Name, err)
	}
	return nil
}

// IdentityDir returns the folder with the node's identity: its keys, its tokens, and the members that it knows.
func (c Config) IdentityDir() string { return filepath.Join(c.Data, "identity") }

// TokenPath returns where the node keeps the token with which commands on its machine use its API.
func (c Config) TokenPath() string { return filepath.Join(c.IdentityDir(), "api-token") }
