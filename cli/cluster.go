package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/node"
)

type statusCmd struct{}

func (statusCmd) exits() []string {
	return []string{"0   healthy", "1   something is not as it should be; the answer says what"}
}

func (statusCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, c *client.Client) error {
		st, err := c.Status(ctx)
		if err != nil {
			return err
		}
		if err := a.answer(st, func() error { return showStatus(a, st) }); err != nil {
			return err
		}
		if !st.Healthy {
			return errNo
		}
		return nil
	})
}

func showStatus(a *app, st wire.Status) error {
	quorum := "no quorum"
	if st.Cluster.Quorum {
		quorum = "led by " + st.Cluster.LeaderName
	}
	fmt.Fprintf(a.stdout, "Cluster %s (%s), epoch %d: %s. Answered by %s.\n\n", st.Cluster.Name, short2(st.Cluster.ID),
		st.Cluster.Epoch, quorum, st.Node.Name)
	if err := nodeTable(a, st.Nodes); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	if err := replicaTable(a, st.Replicas); err != nil {
		return err
	}
	var jobs []string
	for _, state := range []string{"NEW", "SUBMITTED", "STARTED", "DONE", "FAILED", "RESUBMITTED", "FAILED_REJECTED"} {
		for s, n := range st.Jobs {
			if string(s) == state {
				jobs = append(jobs, fmt.Sprintf("%d %s", n, state))
			}
		}
	}
	if len(jobs) > 0 {
		fmt.Fprintf(a.stdout, "\nJobs: %s\n", strings.Join(jobs, ", "))
	}
	if st.Ownerless > 0 {
		fmt.Fprintf(a.stdout, "\nAccess tokens without an owner: %d; see holdfast token list and holdfast token take\n",
			st.Ownerless)
	}
	if st.Lost > 0 {
		fmt.Fprintf(a.stdout, "\nFiles declared lost: %d\n", st.Lost)
	}
	for _, d := range st.Node.Disks {
		fmt.Fprintf(a.stdout, "\nDisk of %s at %s: %s of %s free\n", st.Node.Name, d.Path, size(d.Free), size(d.Total))
	}
	if m := st.Node.DiskMove; m != nil {
		fmt.Fprintf(a.stdout, "\nShard %s moves from %s to %s: %d of %d files\n", m.Shard, m.From, m.To, m.Files,
			m.TotalFiles)
	}
	owed := int64(0)
	for _, r := range st.Replicas {
		owed += int64(r.Owed)
	}
	if owed > 0 {
		fmt.Fprintf(a.stdout, "\nCopies that are still to be made: %d\n", owed)
	}
	if st.Healthy {
		_, err := fmt.Fprintln(a.stdout, "\nHealthy.")
		return err
	}
	fmt.Fprintln(a.stdout, "\nNot healthy:")
	for _, p := range st.Problems {
		fmt.Fprintln(a.stdout, "  "+p)
	}
	return nil
}

func short2(id string) string { return id[:min(len(id), 8)] }

func nodeTable(a *app, nodes []wire.Node) error { return nodeRows(a, nodes, nil) }

// nodeList is the table of nodes with the channels that they serve.
func nodeList(a *app, nodes []wire.Node) error {
	return nodeRows(a, nodes, func(n wire.Node) string { return strings.Join(n.Channels, ", ") })
}

func nodeRows(a *app, nodes []wire.Node, channels func(wire.Node) string) error {
	head := table.Row{"Node", "Id", "Replica", "Place", "State", "Voter", "Shards", "Free", "Jobs"}
	if channels != nil {
		head = append(head, "Channels")
	}
	rows := make([]table.Row, len(nodes))
	for i, n := range nodes {
		state := n.Presence.State
		if n.Draining {
			state += ", draining"
		}
		rows[i] = table.Row{n.Name, short(n.ID), n.Replica, n.Place, state, yes(n.Presence.Voter), n.Shards,
			size(n.Presence.Free), n.Presence.Jobs}
		if channels != nil {
			rows[i] = append(rows[i], channels(n))
		}
		rows[i] = append(rows[i], n.Presence.Version)
	}
	return a.table(append(head, "Version"), rows)
}

func replicaTable(a *app, replicas []wire.Replica) error {
	rows := make([]table.Row, len(replicas))
	for i, r := range replicas {
		rows[i] = table.Row{r.Name, r.Kind, r.Place, r.Files, size(r.Bytes), r.Good, r.Owed, r.Disputed,
			fmt.Sprintf("%d/4096", r.Held), r.Moving}
	}
	err := a.table(table.Row{"Replica", "Kind", "Place", "Files", "Bytes", "Good", "Owed", "Disputed", "Shards",
		"Moving"}, rows)
	for _, r := range replicas {
		if r.Away > 0 {
			fmt.Fprintf(a.stdout, "\n%s: %d copies on a disk that is away. They count as good, and nobody can read "+
				"them.\n", r.Name, r.Away)
		}
	}
	return err
}

type nodeCmd struct {
	List    nodeListCmd    `cmd:"" help:"List the nodes."`
	Show    nodeShowCmd    `cmd:"" help:"Show one node: its addresses, state, shards and free room."`
	Drain   nodeDrainCmd   `cmd:"" help:"Move a node's shards to the other nodes of its replica."`
	Undrain nodeUndrainCmd `cmd:"" help:"Cancel a drain: the node holds shards again."`
	Weight  nodeWeightCmd  `cmd:"" help:"Change a node's share of its replica's shards."`
	Remove  nodeRemoveCmd  `cmd:"" help:"Remove a node from the cluster."`

	Invite   nodeInviteCmd   `cmd:"" help:"Create a join token, with which one machine becomes a node. It is printed once."`
	Invites  nodeInvitesCmd  `cmd:"" help:"List the join tokens."`
	Uninvite nodeUninviteCmd `cmd:"" help:"Revoke a join token."`
}

type nodeListCmd struct{}

func (nodeListCmd) Run(a *app) error {
	return ask(a, showAll(nodeList),
		func(ctx context.Context, c *client.Client) ([]wire.Node, error) { return c.Nodes().List(ctx) })
}

type nodeShowCmd struct {
	Name string `arg:"" help:"The node's name, its id, or the beginning of its id."`
}

func (c nodeShowCmd) Run(a *app) error {
	return ask(a, showNode, func(ctx context.Context, archive *client.Client) (wire.Node, error) {
		return archive.Nodes().Show(ctx, c.Name)
	})
}

func showNode(a *app, n wire.Node) error {
	return a.answer(n, func() error {
		return a.table(nil, []table.Row{{"name", n.Name}, {"id", n.ID}, {"replica", n.Replica}, {"place", n.Place},
			{"addresses", strings.Join(n.Addresses, ", ")}, {"state", n.Presence.State},
			{"voter", yes(n.Presence.Voter)},
			{"draining", yes(n.Draining)}, {"channels", strings.Join(n.Channels, ", ")},
			{"weight", n.Weight}, {"shards", n.Shards}, {"free", size(n.Presence.Free)},
			{"jobs", n.Presence.Jobs}, {"version", n.Presence.Version}, {"joined", when(n.Joined)}})
	})
}

type nodeDrainCmd struct {
	Name string `arg:"" help:"The node's name, its id, or the beginning of its id."`
	Undo bool   `hidden:"" help:"Cancel the drain, as node undrain does."`
	stageFlags
	Reason string `help:"Reason, kept with a staged change."`
}

func (c nodeDrainCmd) Run(a *app) error {
	draining, step := !c.Undo, "drain"
	if c.Undo {
		step = "undrain"
	}
	return a.changeNode(c.Name, c.Stage, wire.NodeChange{Draining: &draining},
		wire.NodeStaging{Step: step, Reason: c.Reason})
}

type nodeUndrainCmd struct {
	Name string `arg:"" help:"The node's name, its id, or the beginning of its id."`
	stageFlags
	Reason string `help:"Reason, kept with a staged change."`
}

func (c nodeUndrainCmd) Run(a *app) error {
	return nodeDrainCmd{Name: c.Name, Undo: true, stageFlags: c.stageFlags, Reason: c.Reason}.Run(a)
}

type nodeWeightCmd struct {
	Name   string `arg:"" help:"The node's name, its id, or the beginning of its id."`
	Weight int    `arg:"" help:"The node's share relative to others; 100 is usual."`
	stageFlags
	Reason string `help:"Reason, kept with a staged change."`
}

func (c nodeWeightCmd) Run(a *app) error {
	return a.changeNode(c.Name, c.Stage, wire.NodeChange{Weight: &c.Weight},
		wire.NodeStaging{Step: "weight", Weight: c.Weight, Reason: c.Reason})
}

type nodeRemoveCmd struct {
	Name   string `arg:"" help:"The node's name, its id, or the beginning of its id."`
	Lost   bool   `help:"The node's bytes are gone for good: remove it without waiting for its shards to move."`
	Files  int64  `placeholder:"N" help:"With --lost: how many files have no good copy on another node, as --list prints them. The node is removed only if that is the number now."`
	List   bool   `help:"Remove nothing. List the files that have no good copy on another node, and are lost if the node is."`
	Limit  int    `default:"0" help:"With --list: show at most this many; 0 shows all."`
	Reason string `help:"Reason, written into the audit trail."`
	Yes    bool   `help:"Remove without asking. Otherwise the command says what would happen, and asks at a terminal."`
	stageFlags
}

func (nodeRemoveCmd) Help() string {
	return "A drained node may still hold files that the others have not copied yet. The command waits until they " +
		"have. Interrupting\n" +
		"the wait changes nothing."
}

func (c nodeRemoveCmd) Run(a *app) error {
	if c.List {
		return c.list(a)
	}
	if c.Reason == "" {
		return usage("missing flags: --reason=STRING")
	}
	if c.Files != 0 && !c.Lost {
		return usage("--files is for --lost: a drained node has no files")
	}
	if c.Stage && c.Lost {
		return usage("what is lost is not staged: its files are made again from now on")
	}
	return a.stageOr(c.Stage, func(ctx context.Context, archive *client.Client) error {
		if err := a.confirmed(c.Yes, func(confirm string) error {
			return a.removeNode(ctx, archive, c.Name,
				wire.Removal{Lost: c.Lost, Files: c.Files, Reason: c.Reason,
					Confirmation: wire.Confirmation{Confirm: confirm}})
		}); err != nil {
			return err
		}
		return a.done("removed", c.Name)
	}, func(ctx context.Context, archive *client.Client) (wire.LayoutChange, error) {
		return archive.Nodes().StageRemoval(ctx, c.Name, c.Reason)
	})
}

// done says that an act without an answer of its own was carried out.
func (a *app) done(act, what string) error {
	return a.answer(map[string]string{act: what}, func() error {
		_, err := fmt.Fprintln(a.stdout, act, what)
		return err
	})
}

type replicaCmd struct {
	List   replicaListCmd   `cmd:"" help:"List the replicas and the state of their copies."`
	Show   replicaShowCmd   `cmd:"" help:"Show a replica: how many copies are missing or changed, and when each kind of check was made last."`
	Add    replicaAddCmd    `cmd:"" help:"Add a replica; nodes join it with join tokens."`
	Adopt  replicaAdoptCmd  `cmd:"" help:"Fill the stopped node's disks from folders that were copied from another replica."`
	Set    replicaSetCmd    `cmd:"" help:"Change which collections a replica has to hold."`
	Remove replicaRemoveCmd `cmd:"" help:"Remove a replica that has no nodes and no verified copies."`
}

type replicaListCmd struct{}

func (replicaListCmd) Run(a *app) error {
	return ask(a, showAll(replicaTable),
		func(ctx context.Context, c *client.Client) ([]wire.Replica, error) { return c.Replicas().List(ctx) })
}

type replicaAddCmd struct {
	Name       string   `arg:"" help:"The replica's name, as in cluster.toml."`
	Kind       string   `required:"" enum:"bitarchive,checksum" help:"bitarchive holds the files; checksum holds only their checksums."`
	Place      string   `help:"The place where its nodes stand and would fail together. Default: the replica's name."`
	Collection []string `placeholder:"NAME" help:"Keep the files of this collection; may be repeated. Default: all collections."`
}

func (c replicaAddCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		in := wire.ReplicaRequest{Name: c.Name, Kind: wire.ReplicaKind(c.Kind), Place: c.Place,
			Collections: c.Collection}
		r, err := archive.Replicas().Add(ctx, in)
		if err != nil {
			return err
		}
		return a.answer(r, func() error { return replicaTable(a, []wire.Replica{r}) })
	})
}

type replicaRemoveCmd struct {
	Name   string `arg:"" help:"A replica's name."`
	Reason string `required:"" help:"Reason, written into the audit trail."`
}

func (c replicaRemoveCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		if err := archive.Replicas().Remove(ctx, c.Name, c.Reason); err != nil {
			return err
		}
		return a.done("removed", c.Name)
	})
}

type shardCmd struct {
	List shardListCmd `cmd:"" help:"List a replica's shards: which node holds each, and where it moves."`
}

type shardListCmd struct {
	Replica string `arg:"" help:"A replica's name."`
	Moving  bool   `help:"Show only shards that are moving."`
}

func (s shardListCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, c *client.Client) error {
		shards, err := collect(c.Replicas().Shards(ctx, s.Replica))
		if err != nil {
			return err
		}
		if s.Moving {
			var moving []wire.Shard
			for _, shard := range shards {
				if shard.Next != "" {
					moving = append(moving, shard)
				}
			}
			shards = moving
		}
		names, err := nodeNames(ctx, c)
		if err != nil {
			return err
		}
		return list(a, shards, table.Row{"Shard", "Holder", "Next"}, func(s wire.Shard) table.Row {
			return table.Row{s.Shard, nameOf(names, s.Holder), nameOf(names, s.Next)}
		})
	})
}

type clusterCmd struct {
	Level   clusterLevelCmd   `cmd:"" help:"Show the cluster's level, or raise it to enable what a new version brings."`
	Recover clusterRecoverCmd `cmd:"" help:"Continue with this node as the only voter, when most voters are lost for good."`
}

type clusterRecoverCmd struct {
	Reason string `required:"" help:"Reason, written into the audit trail."`
	Yes    bool   `help:"Recover without asking. Afterwards the cluster refuses the state that the other nodes still have."`
}

func (clusterRecoverCmd) Help() string {
	return "Stop the node first. It becomes the only voter, under a higher epoch. Members that come back with the " +
		"older epoch are\nrefused and stop, so that there cannot be two clusters. Each of them joins again from its " +
		"own folder with a join token,\nand keeps its key and its files. Remove nodes that are gone for good with " +
		"node remove --lost.\n" +
		"Nothing is released until the members have compared their copies with the catalog: the node where a file " +
		"entered the\n" +
		"archive keeps its bytes. At level 1 members do not compare: nothing is released until the level is raised " +
		"to 3."
}

func (c clusterRecoverCmd) Run(a *app) error {
	cfg, err := a.nodeConfig()
	if err != nil {
		return err
	}
	if !c.Yes {
		return usage("recover only when most voters are lost for good: members that come back are refused from then " +
			"on. To go ahead, give --yes")
	}
	keepPrivate()
	cluster, err := node.Recover(a.ctx, cfg, c.Reason, a.log)
	if err != nil {
		return err
	}
	return a.answer(map[string]any{"cluster": cluster.ID, "name": cluster.Name, "epoch": cluster.Epoch}, func() error {
		_, err := fmt.Fprintf(a.stdout, "cluster %s goes on with %s as its only voter, epoch %d; start the node\n",
			cluster.Name, cfg.Name, cluster.Epoch)
		return err
	})
}
