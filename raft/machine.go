package raft

import (
	"errors"

	"holdfast/catalog"
)

// agreed asks the machine about this node's state.
type agreed struct {
	state   *state
	machine Machine
}

// grouped reports whether the cluster's level lets several commands go in one log entry. What this node has applied is
// in the log before what it proposes.
func (a agreed) grouped() (grouped bool, err error) {
	err = a.state.view(func(r reader) error { grouped, err = a.machine.Grouped(r); return err })
	return grouped, err
}

// members returns the nodes that the state trusts.
func (a agreed) members() (members []Candidate, err error) {
	err = a.state.view(func(r reader) error { members, err = a.machine.Members(r); return err })
	return members, err
}

// epoch returns the cluster's epoch.
func (a agreed) epoch() (epoch uint64, err error) {
	err = a.state.view(func(r reader) error { epoch, err = a.machine.Epoch(r); return err })
	return epoch, err
}

// boot returns the last of the node's boots that a request was numbered by, 0 when none is known.
func (a agreed) boot(node catalog.NodeID) (boot uint64, err error) {
	err = a.state.view(func(r reader) error { boot, err = a.machine.Boot(r, node); return err })
	return boot, err
}

// theCatalog is the catalog as a Machine.
type theCatalog struct{}

// Apply carries out one command.
func (theCatalog) Apply(tx catalog.Tx, index uint64, data []byte) (catalog.Result, error) {
	return catalog.Apply(tx, index, data)
}

// Grouped reports whether the cluster's level has entries with several commands.
func (theCatalog) Grouped(r catalog.Reader) (bool, error) {
	cluster, err := catalog.NewView(r).Cluster()
	if errors.Is(err, catalog.ErrNotFound) {
		return false, nil
	}
	return cluster.Level >= catalog.LevelOfGroups, err
}

// Members returns the members with the places of their replicas.
func (theCatalog) Members(r catalog.Reader) ([]Candidate, error) {
	view := catalog.NewView(r)
	replicas, err := view.Replicas()
	if err != nil {
		return nil, err
	}
	places := make(map[catalog.ReplicaName]string)
	for _, replica := range replicas {
		places[replica.Name] = replica.Place
	}
	members, err := view.Members()
	if err != nil {
		return nil, err
	}
	out := make([]Candidate, 0, len(members))
	for _, m := range members {
		out = append(out, Candidate{ID: m.ID, Place: places[m.Replica], OutOnly: m.OutOnly})
	}
	return out, nil
}

// Epoch returns the cluster's epoch, 0 before it was founded.
func (theCatalog) Epoch(r catalog.Reader) (uint64, error) {
	cluster, err := catalog.NewView(r).Cluster()
	if errors.Is(err, catalog.ErrNotFound) {
		return 0, nil
	}
	return cluster.Epoch, err
}

// Boot returns the last boot of the node from which the catalog has seen a request.
func (theCatalog) Boot(r catalog.Reader, node catalog.NodeID) (uint64, error) {
	return catalog.NewView(r).Boot(node)
}
