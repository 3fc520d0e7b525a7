package cluster

import (
	"fmt"

	"holdfast/catalog/agree"
)

// Check calls found for each value of the subject that cannot be read, and for each that does not fit the others. An
// error is the Reader's.
func (v View) Check(found func(key, what string)) error {
	r := In(v.Reader)
	if c, err := v.Cluster(); err != nil {
		found(agree.PrefixCluster, fmt.Sprintf("%v", err))
	} else if c.ID == "" || c.Epoch < 1 || c.Level < 1 {
		found(agree.PrefixCluster, fmt.Sprintf("no cluster has the id %q, epoch %d and level %d", c.ID, c.Epoch,
			c.Level))
	}
	replicas, err := decoded[Replica](r, PrefixReplicas, found)
	if err != nil {
		return err
	}
	if _, err := decoded[Collection](r, PrefixCollections, found); err != nil {
		return err
	}
	if _, err := decoded[JoinToken](r, PrefixJoinTokens, found); err != nil {
		return err
	}
	members, err := decoded[Member](r, PrefixMembers, found)
	if err != nil {
		return err
	}
	names, err := decoded[agree.NodeID](r, prefixNames, found)
	if err != nil {
		return err
	}
	for id, m := range members {
		key := keyMember(agree.NodeID(id))
		if Fingerprint(m.Key) != m.ID || string(m.ID) != id {
			found(key, "the id is not the fingerprint of the key")
		}
		if _, there := replicas[string(m.Replica)]; !there {
			found(key, fmt.Sprintf("is of %s, which is no replica", m.Replica))
		}
		if names[m.Name] != m.ID {
			found(key, fmt.Sprintf("the name %s is not the member's", m.Name))
		}
	}
	for name, id := range names {
		if m, there := members[string(id)]; !there || m.Name != name {
			found(keyName(name), "no member has the name")
		}
	}
	return r.Scan([]byte(PrefixLayout), nil, func(key, value []byte) bool {
		if _, err := decodePlacement(value); err != nil {
			found(string(key), err.Error())
		}
		return true
	})
}

// decoded reads all values under the prefix, by the rest of their keys.
func decoded[T any](r Records, prefix string, found func(key, what string)) (map[string]T, error) {
	out := map[string]T{}
	err := r.Scan([]byte(prefix), nil, func(key, value []byte) bool {
		var one T
		if err := agree.DecodeValue(key, value, &one); err != nil {
			found(string(key), err.Error())
		} else {
			out[string(key[len(prefix):])] = one
		}
		return true
	})
	return out, err
}
