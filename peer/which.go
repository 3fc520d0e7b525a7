package peer

import (
	"context"
	"errors"
	"sync"

	"github.com/quic-go/quic-go"
)

// Found is what was found at an address that was asked for a cluster by its name.
type Found struct {
	Address string
	Node    ID     // whose key it showed; empty where nothing answered
	Cluster string // id of the cluster of that name; empty where the node belongs to no such cluster, or did not say
	Silent  bool   // nothing answered there, although a node may be running
	Older   bool   // a node runs there that does not know the question
}

// Which asks at each address whether a node of a cluster with that name runs there. It asks as a stranger, from a
// port of its own, and needs nothing on disk.
func Which(ctx context.Context, name string, addresses []string) ([]Found, error) {
	id, err := NewIdentity()
	if err != nil {
		return nil, err
	}
	v, err := newVisitor(id)
	if err != nil {
		return nil, err
	}
	defer v.close()
	found := make([]Found, len(addresses))
	var all sync.WaitGroup
	for i, address := range addresses {
		all.Go(func() { found[i] = v.which(ctx, name, address) })
	}
	all.Wait()
	return found, nil
}

func (v *visitor) which(ctx context.Context, name, address string) Found {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	silent := Found{Address: address, Silent: true}
	if problem, _ := probe(ctx, address); problem != "" {
		return silent
	}
	conn, err := v.dial(ctx, target{address: address, anyone: true})
	if err != nil {
		return silent
	}
	defer closeConn(conn, Welcome, "")
	key, err := remoteKey(conn.ConnectionState().TLS)
	if err != nil {
		return silent
	}
	out := Found{Address: address, Node: Fingerprint(key)}
	_, a, _, err := introduce(ctx, conn, hello{version: protocolVersion, class: whichClass, cluster: name}, out.Node)
	var refused *RefusedError
	switch {
	case err == nil:
		out.Cluster = a.reason
	case errors.As(err, &refused) && refused.Refusal == Malformed:
		out.Older = true
	case !errors.As(err, &refused) || refused.Refusal != OtherCluster:
		return silent
	}
	return out
}

// serveWhich tells a stranger who named this node's cluster which one it is. The id opens no door: a member is known
// by its key, and a token that joins has a secret.
func (p *Peer) serveWhich(conn *quic.Conn, meta *quic.Stream, a answer) {
	a.boot, a.reason = 0, p.cfg.Cluster
	ctx, cancel := context.WithTimeout(conn.Context(), greetTime)
	defer cancel()
	if sendAnswer(meta, a) == nil {
		<-ctx.Done() // the asking side closes when it has read the answer
	}
	closeConn(conn, Welcome, "")
}
