//go:build nemesis

package nemesis

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/api/wire"
)

// traffic starts the clients, which end with calm.
func (h *trial) traffic(calm context.Context, work *sync.WaitGroup) {
	put, read, replay, administer := (*client).puts, (*client).reads, (*client).replays, (*client).administer
	for i, act := range []func(*client, context.Context){put, put, put, read, read, read, replay, replay, administer} {
		c := &client{trial: h, id: i + 1, random: rand.New(rand.NewPCG(h.plan.Seed, uint64(i+1)))}
		work.Go(func() {
			for calm.Err() == nil {
				act(c, h.t.Context())
				c.rest(calm, 300*time.Millisecond)
			}
		})
	}
}

// client is one of those that use the archive at the same time.
type client struct {
	*trial
	id     int
	random *rand.Rand
	made   int
}

func (c *client) node() string { return Nodes()[c.random.IntN(len(Nodes()))] }

func (c *client) begin(act Act, subject string) Op {
	return Op{Client: c.id, Node: c.node(), Act: act, Subject: subject, Begin: c.history.Now()}
}

func (c *client) rest(ctx context.Context, most time.Duration) {
	pause(ctx, time.Duration(c.random.Int64N(int64(most))))
}

// puts puts a file: of its own, of a name that all clients want, or again what was put before.
func (c *client) puts(ctx context.Context) {
	c.made++
	switch c.random.IntN(8) {
	case 0:
		c.put(ctx, fmt.Sprintf("common-%d.bin", c.random.IntN(12)), c.random.IntN(Variants))
	case 1:
		if name := c.known(func(name string) bool { return !IsPages(name) }); name != "" {
			c.put(ctx, name, c.random.IntN(2))
		}
	case 2, 3:
		c.put(ctx, fmt.Sprintf("pages-%d-%d.warc%s", c.id, c.made, []string{"", ".gz"}[c.made%2]), 0)
	default:
		c.put(ctx, fmt.Sprintf("file-%d-%d.bin", c.id, c.made), 0)
	}
}

// reads reads a file, or a part of it.
func (c *client) reads(ctx context.Context) {
	if name := c.known(func(string) bool { return true }); name != "" {
		c.read(ctx, name)
	}
}

// replays replays a page.
func (c *client) replays(ctx context.Context) {
	if name := c.known(IsPages); name != "" {
		c.replay(ctx, name)
	}
}

// put sends a file. Some clients promise what they send, some promise something else, some break off.
func (c *client) put(ctx context.Context, name string, variant int) {
	o := c.begin(Put, name)
	o.Variant = variant
	content := c.contents.Bytes(name, variant)
	header := map[string]string{"Content-Type": "application/octet-stream"}
	var body io.Reader = bytes.NewReader(content)
	switch c.random.IntN(20) {
	case 0:
		o.Lie, header["Holdfast-SHA256"] = true, Sum(append([]byte("not "), content...))
	case 1:
		body = io.MultiReader(bytes.NewReader(content[:len(content)/2]), broken{})
	case 2, 3, 4, 5, 6:
	default:
		header["Holdfast-SHA256"] = Sum(content)
	}
	a := c.ask(ctx, o.Node, "api", "PUT", "/api/v1/files/"+name+"/content", body, header)
	var file wire.File
	if a.clean && a.status < 300 && json.Unmarshal(a.body, &file) == nil {
		o.Digest = file.SHA256
	}
	if o = c.record(o, a); o.OK() && !o.Lie {
		c.mu.Lock()
		c.acked = append(c.acked, name)
		c.mu.Unlock()
	}
}

// broken is a body that ends too early.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the client breaks off") }

// known returns a name that was acknowledged, the newest more often than the rest; "" when there is none that fits.
func (c *client) known(fits func(string) bool) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range 20 {
		n := len(c.acked)
		if n == 0 {
			return ""
		}
		i := c.random.IntN(n)
		if c.random.IntN(2) == 0 {
			i = max(i, n-1-c.random.IntN(10))
		}
		if fits(c.acked[max(i, 0)]) {
			return c.acked[max(i, 0)]
		}
	}
	return ""
}

// read gets a file, or a part of it, or asks how large it is.
func (c *client) read(ctx context.Context, name string) {
	o := c.begin(Get, name)
	method, header := "GET", map[string]string{}
	switch size := len(c.contents.Bytes(name, 0)); {
	case c.random.IntN(8) == 0:
		o.Act, method = Head, "HEAD"
	case size > 4 && c.random.IntN(3) > 0:
		o.Act = Range
		o.From = c.random.Int64N(int64(size))
		o.To = o.From + c.random.Int64N(int64(size)/2+1)
		header["Range"] = fmt.Sprintf("bytes=%d-%d", o.From, o.To)
	}
	a := c.ask(ctx, o.Node, "api", method, "/api/v1/files/"+name+"/content", nil, header)
	c.record(readAnswer(o, a), a)
}

// readAnswer notes what the answer says of the file, and what it gave of it.
func readAnswer(o Op, a answer) Op {
	if a.clean && a.status < 300 {
		o.Digest, o.Span = a.header.Get("Holdfast-SHA256"), a.header.Get("Content-Range")
		o.Size, o.Sum = int64(len(a.body)), Sum(a.body)
		if o.Act == Head {
			o.Sum = ""
			o.Size, _ = strconv.ParseInt(a.header.Get("Content-Length"), 10, 64)
		}
	}
	return o
}

// replay asks for an archived page as it was. One that is not found may not be indexed yet.
func (c *client) replay(ctx context.Context, name string) {
	c.page(ctx, Op{Client: c.id, Node: c.node(), Subject: name, From: c.random.Int64N(pagesPerFile)})
}

// page asks a node for a page of a file and records what it answered.
func (h *trial) page(ctx context.Context, o Op) Op {
	o.Act, o.Begin = Replay, h.history.Now()
	a := h.ask(ctx, o.Node, "access", "GET", "/web/20260101000000id_/"+h.contents.Pages(o.Subject, 0)[o.From].URL, nil, nil)
	if a.clean && a.status == 200 {
		o.Size, o.Sum = int64(len(a.body)), Sum(a.body)
	}
	return h.record(o, a)
}

// administer does one act of an administrator.
func (c *client) administer(ctx context.Context) {
	switch c.random.IntN(6) {
	case 0, 1:
		target := []string{"north-1", "south-1"}[c.random.IntN(2)]
		weight := 50 + c.random.IntN(100)
		o := c.begin(Weight, "weight "+target)
		o.Value = int64(weight)
		a, _ := c.call(ctx, o.Node, "PATCH", "/nodes/"+target, wire.NodeChange{Weight: &weight}, nil)
		c.record(o, a)
	case 2:
		c.collection(ctx)
	case 3:
		c.token(ctx)
	default:
		if c.made++; c.made%4 == 0 {
			c.job(ctx)
		} else {
			o := c.begin(List, "files")
			a, _ := c.call(ctx, o.Node, "GET", "/files?limit=50", nil, nil)
			c.record(o, a)
		}
	}
}

// collection adds a collection or removes one.
func (c *client) collection(ctx context.Context) {
	o := c.begin(Collect, fmt.Sprintf("collection s%d-%d", c.id, c.random.IntN(3)))
	_, name, _ := strings.Cut(o.Subject, " ")
	var a answer
	if o.Value = 1; c.random.IntN(2) == 0 {
		o.Value = -1
		a, _ = c.call(ctx, o.Node, "POST", "/collections/"+name+"/remove", wire.ReasonRequest{Reason: "nemesis"}, nil)
	} else {
		a, _ = c.call(ctx, o.Node, "POST", "/collections", wire.CollectionRequest{Name: name}, nil)
	}
	c.record(o, a)
}

// token creates a join token and revokes it.
func (c *client) token(ctx context.Context) {
	o := c.begin(Administer, "join token")
	var made wire.JoinToken
	a, err := c.call(ctx, o.Node, "POST", "/join-tokens", wire.JoinTokenRequest{Replica: "north", Lifetime: "24h"}, &made)
	c.record(o, a)
	if err != nil {
		return
	}
	o = c.begin(Revoke, "token "+made.ID)
	o.Value = 1
	a, _ = c.call(ctx, o.Node, "DELETE", "/join-tokens/"+made.ID, nil, nil)
	c.record(o, a)
}

// job creates a small crawl.
func (c *client) job(ctx context.Context) {
	o := c.begin(NewJob, "job")
	request := map[string]any{"name": fmt.Sprintf("crawl%d", c.made), "seeds": []string{c.site},
		"settings": map[string]any{"operator_contact": "http://test.invalid/", "allow_private": true, "robots": "ignore",
			"min_delay": "50ms", "min_free_disk": 0}}
	var made wire.Job
	a, err := c.call(ctx, o.Node, "POST", "/jobs", request, &made)
	if err == nil {
		o.Value = int64(made.ID)
	}
	c.record(o, a)
}
