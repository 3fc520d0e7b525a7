package membership

import (
	"errors"
	"io/fs"

	"holdfast/catalog"
	"holdfast/node/config"
	"holdfast/peer"
)

// OwnerOf returns what the identity folder of a node's data folder, of any node, says of its cluster and of the node
// itself: id is empty if its key cannot be read. ErrNotFounded if it says neither. It changes nothing.
func OwnerOf(data string) (k Known, id catalog.NodeID, err error) {
	f := Folder{Config: config.Config{Data: data}}
	k, failed := f.load()
	own, err := peer.LoadIdentity(f.IdentityDir())
	if err == nil {
		id = catalog.NodeID(own.ID())
	}
	switch {
	case errors.Is(failed, ErrNotFounded) && errors.Is(err, fs.ErrNotExist):
		return k, "", ErrNotFounded
	case failed != nil && !errors.Is(failed, ErrNotFounded):
		return k, id, errors.Join(failed, err)
	}
	return k, id, err
}

// SelfOf returns how the configured node presents itself to a cluster. It needs the node's key.
func SelfOf(c Folder) (catalog.Member, error) {
	id, err := c.OwnIdentity()
	if err != nil {
		return catalog.Member{}, err
	}
	return c.member(id), nil
}
