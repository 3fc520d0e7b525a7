package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/node/wire"
	"holdfast/replica"
)

// Verify makes the holders of these replicas' copies, or of all copies, read them again.
func (a Files) Verify(ctx context.Context, name catalog.FileName,
	replicas []catalog.ReplicaName) ([]api.Verification, error) {
	var file catalog.File
	keepers := map[catalog.ReplicaName]catalog.Member{}
	err := a.Catalog.View(func(v catalog.View) (err error) {
		if file, err = v.File(name); err != nil {
			return err
		}
		if len(replicas) > 0 {
			file.Copies = slices.DeleteFunc(slices.Clone(file.Copies), func(c catalog.Copy) bool {
				return !slices.Contains(replicas, c.Replica)
			})
		}
		for _, c := range file.Copies {
			p, err := v.Placement(c.Replica, name.Shard())
			if err != nil {
				return err
			}
			if p.Holder == "" {
				continue
			}
			if keepers[c.Replica], err = v.Member(p.Holder); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, a.explain(err)
	}
	replies := wire.Gather(file.Copies, func(c catalog.Copy) (api.Verification, error) {
		return a.verify(ctx, file, c.Replica, keepers[c.Replica]), nil
	})
	out := make([]api.Verification, len(replies))
	for i, r := range replies {
		out[i] = r.Answer
	}
	return out, nil
}

// verify has one node read its copy, and its bytes in the outbox. What was not read is neither right nor wrong.
func (a Files) verify(ctx context.Context, file catalog.File, of catalog.ReplicaName,
	keeper catalog.Member) api.Verification {
	out := api.Verification{Replica: string(of), Node: string(keeper.ID)}
	var read replica.Reread
	var err error
	switch {
	case keeper.ID == "":
		err = fmt.Errorf("no node of replica %s holds shard %s yet", of, file.Name.Shard())
	case keeper.ID == a.Self:
		read, err = a.Own.Replica.Again.Read(ctx, file.Name)
	case keeper.Level >= replica.LevelOfRereads:
		read, err = wire.Ask[replica.Reread](ctx, a.Ask, keeper.ID, replica.RereadCall, file.Name)
	default:
		read, err = a.verifyOlder(ctx, file, keeper.ID)
	}
	if err != nil {
		out.State, out.Detail = unreachable, err.Error()
		return out
	}
	out.State, out.SHA256, out.Detail = judged(read.Copy, file)
	if read.Outbox != nil {
		var why string
		out.Outbox, _, why = judged(*read.Outbox, file)
		if why != "" {
			out.Detail = cmp.Or(out.Detail, "outbox: "+why)
		}
	}
	return out
}

// judged compares bytes that a node has read with the file as this node's catalog has it: the other's word on what is
// right may be about another state.
func judged(read replica.BytesRead, file catalog.File) (state, digest, why string) {
	switch read.State {
	case replica.ReadRight, replica.ReadWrong:
		state = string(replica.ReadWrong)
		if read.SHA256 == file.SHA256 && read.Size == file.Size {
			state = string(replica.ReadRight)
		}
		return state, read.SHA256.String(), read.Why
	case replica.ReadMissing, replica.ReadAway, replica.ReadFailed:
		return string(read.State), "", read.Why
	}
	return unreachable, "", fmt.Sprintf("the node gave an answer that this program does not know: %q", read.State)
}

// verifyOlder asks a node whose program reads the bytes in its outbox when the copy is not in its place, and does not
// say so: of a file's source it cannot be told which of the two it has read.
func (a Files) verifyOlder(ctx context.Context, file catalog.File, node catalog.NodeID) (replica.Reread, error) {
	held, err := wire.Ask[replica.Held](ctx, a.Ask, node, replica.VerifyCall, file.Name)
	switch {
	case errors.Is(replica.Understood(err), replica.ErrNotHere):
		return replica.Reread{Copy: replica.BytesRead{State: replica.ReadMissing}}, nil
	case err != nil:
		return replica.Reread{}, err
	case file.Source == node && !file.Released:
		return replica.Reread{}, errors.New("its program is older: what it read may be the bytes in its outbox")
	}
	return replica.Reread{Copy: replica.BytesRead{State: replica.ReadRight, Size: held.Size, SHA256: held.SHA256}}, nil
}
