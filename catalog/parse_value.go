package catalog

func (t *Time) parse(text []byte) bool {
	c := cursor{rest: text}
	out := c.time()
	if c.done() {
		*t = out
	}
	return c.done()
}

func (t *Totals) parse(text []byte) bool {
	c, out := cursor{rest: text}, Totals{}
	c.must(`{"files":`)
	out.Files = c.int()
	c.must(`,"bytes":`)
	out.Bytes = c.int()
	c.must(`,"good":`)
	out.Good = c.int()
	c.must(`,"owed":`)
	out.Owed = c.int()
	c.must(`,"disputed":`)
	out.Disputed = c.int()
	c.must(`}`)
	if c.done() {
		*t = out
	}
	return c.done()
}

func (r *Root) parse(text []byte) bool {
	c, out := cursor{rest: text}, Root{}
	c.must(`{"files":`)
	out.Files = c.int()
	c.must(`,"bytes":`)
	out.Bytes = c.int()
	if c.skip(`,"sum":`) {
		out.Sum = c.digest()
	}
	c.must(`}`)
	if c.done() {
		*r = out
	}
	return c.done()
}

func (w *window) parse(text []byte) bool {
	c, out := cursor{rest: text}, window{}
	c.must(`{"boot":`)
	out.Boot = c.uint()
	c.must(`,"top":`)
	out.Top = c.uint()
	c.must(`}`)
	if c.done() {
		*w = out
	}
	return c.done()
}

// parse reads the beginning of an answer. What follows is for whoever needs it.
func (a *asked) parse(text []byte) bool {
	c, out := cursor{rest: text}, asked{}
	c.must(`{"boot":`)
	out.Boot = c.uint()
	c.must(`,"seq":`)
	out.Seq = c.uint()
	c.must(`,"result":{`)
	if !c.bad {
		*a = out
	}
	return !c.bad
}

func (k *Cluster) parse(text []byte) bool {
	c, out := cursor{rest: text}, Cluster{}
	c.must(`{"id":`)
	out.ID = c.text()
	c.must(`,"name":`)
	out.Name = c.text()
	c.must(`,"epoch":`)
	out.Epoch = c.uint()
	c.must(`,"level":`)
	out.Level = c.number()
	c.must(`,"founded":`)
	out.Founded = c.time()
	c.must(`}`)
	if c.done() {
		*k = out
	}
	return c.done()
}

func (r *Replica) parse(text []byte) bool {
	c, out := cursor{rest: text}, Replica{}
	c.must(`{"name":`)
	out.Name = ReplicaName(c.text())
	c.must(`,"kind":`)
	out.Kind = c.replicaKind()
	c.must(`,"place":`)
	out.Place = c.text()
	if c.skip(`,"collections":`) {
		c.each(func() { out.Collections = append(out.Collections, CollectionName(c.text())) })
	}
	c.must(`,"created":`)
	out.Created = c.time()
	c.must(`}`)
	if c.done() {
		*r = out
	}
	return c.done()
}

func (m *Member) parse(text []byte) bool {
	c, out := cursor{rest: text}, Member{}
	c.must(`{"id":`)
	out.ID = NodeID(c.text())
	c.must(`,"name":`)
	out.Name = c.text()
	c.must(`,"key":`)
	out.Key = c.base64()
	c.must(`,"replica":`)
	out.Replica = ReplicaName(c.text())
	if c.skip(`,"addresses":`) {
		c.each(func() { out.Addresses = append(out.Addresses, c.text()) })
	}
	out.OutOnly = c.skip(`,"outOnly":true`)
	if c.skip(`,"weight":`) {
		out.Weight = c.number()
	}
	out.Draining = c.skip(`,"draining":true`)
	c.must(`,"level":`)
	out.Level = c.number()
	c.must(`,"joined":`)
	out.Joined = c.time()
	c.must(`}`)
	if c.done() {
		*m = out
	}
	return c.done()
}

func (f *File) parse(text []byte) bool {
	c, out := cursor{rest: text}, File{}
	c.must(`{"name":`)
	out.Name = FileName(c.text())
	c.must(`,"size":`)
	out.Size = c.int()
	c.must(`,"sha256":`)
	out.SHA256 = c.digest()
	c.must(`,"collection":`)
	out.Collection = CollectionName(c.text())
	c.must(`,"source":`)
	out.Source = NodeID(c.text())
	out.Released = c.skip(`,"released":true`)
	c.must(`,"added":`)
	out.Added = c.time()
	if c.skip(`,"job":`) {
		out.Job = c.uint()
	}
	if c.skip(`,"attempt":`) {
		out.Attempt = c.number()
	}
	if c.skip(`,"removed":`) {
		out.Removed = c.time()
	}
	out.Reason = c.optional(`,"reason":`)
	if c.skip(`,"lost":`) {
		out.Lost = c.time()
	}
	out.LostWhy = c.optional(`,"lostWhy":`)
	c.must(`,"version":`)
	out.Version = c.uint()
	if c.skip(`,"copies":`) {
		out.Copies = make([]Copy, 0, 4)
		c.each(func() { out.Copies = append(out.Copies, c.copy()) })
	}
	c.must(`}`)
	if c.done() {
		*f = out
	}
	return c.done()
}

func (c *cursor) copy() (out Copy) {
	c.must(`{"replica":`)
	out.Replica = ReplicaName(c.text())
	c.must(`,"state":`)
	out.State = c.state()
	out.Node = NodeID(c.optional(`,"node":`))
	if c.skip(`,"found":`) {
		out.Found = c.digest()
	}
	out.Reason = c.optional(`,"reason":`)
	if c.skip(`,"tries":`) {
		out.Tries = c.number()
	}
	c.must(`,"since":`)
	out.Since = c.time()
	out.FileList = FileListStatus(c.optional(`,"fileList":`))
	out.Checksum = ChecksumStatus(c.optional(`,"checksum":`))
	out.Disputed = c.skip(`,"disputed":true`)
	out.Surplus = c.skip(`,"surplus":true`)
	c.must(`}`)
	return out
}

func (c *cursor) replicaKind() ReplicaKind {
	switch text := c.quoted(); string(text) {
	case string(Bitarchive):
		return Bitarchive
	case string(Checksum):
		return Checksum
	default:
		return ReplicaKind(text)
	}
}

// state returns a store state; the known ones cost no memory.
func (c *cursor) state() StoreState {
	switch text := c.quoted(); string(text) {
	case string(UploadStarted):
		return UploadStarted
	case string(UploadCompleted):
		return UploadCompleted
	default:
		return StoreState(text)
	}
}
