package files

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// ParseJSON reads the body as the programs write it.
func (a *Additions) ParseJSON(text []byte) bool {
	c, out := agree.NewScanner(text), Additions{}
	c.Must(`{"files":`)
	c.Each(func() {
		var a Addition
		c.Must(`{"name":`)
		a.Name = FileName(c.Text())
		c.Must(`,"size":`)
		a.Size = c.Int()
		c.Must(`,"sha256":`)
		a.SHA256 = c.Digest()
		c.Must(`,"collection":`)
		a.Collection = cluster.CollectionName(c.Text())
		c.Must(`,"source":`)
		a.Source = agree.NodeID(c.Text())
		if c.Skip(`,"job":`) {
			a.Job = c.Uint()
		}
		if c.Skip(`,"attempt":`) {
			a.Attempt = c.Number()
		}
		c.Must(`}`)
		out.Files = append(out.Files, a)
	})
	c.Must(`}`)
	if c.Done() {
		*a = out
	}
	return c.Done()
}

// ParseJSON reads the body as the programs write it.
func (r *CopyReports) ParseJSON(text []byte) bool {
	c, out := agree.NewScanner(text), CopyReports{}
	c.Must(`{"node":`)
	out.Node = agree.NodeID(c.Text())
	c.Must(`,"copies":`)
	c.Each(func() {
		var r CopyReport
		c.Must(`{"name":`)
		r.Name = FileName(c.Text())
		c.Must(`,"state":`)
		r.State = scanState(&c)
		if c.Skip(`,"sha256":`) {
			r.SHA256 = c.Digest()
		}
		r.Reason = c.Optional(`,"reason":`)
		c.Must(`}`)
		out.Copies = append(out.Copies, r)
	})
	c.Must(`}`)
	if c.Done() {
		*r = out
	}
	return c.Done()
}

// ParseJSON reads the body as the programs write it.
func (r *Releases) ParseJSON(text []byte) bool {
	c, out := agree.NewScanner(text), Releases{}
	c.Must(`{"node":`)
	out.Node = agree.NodeID(c.Text())
	c.Must(`,"files":`)
	c.Each(func() { out.Files = append(out.Files, FileName(c.Text())) })
	c.Must(`}`)
	if c.Done() {
		*r = out
	}
	return c.Done()
}

// ParseJSON reads the counts as the programs write it.
func (t *Totals) ParseJSON(text []byte) bool {
	c, out := agree.NewScanner(text), Totals{}
	c.Must(`{"files":`)
	out.Files = c.Int()
	c.Must(`,"bytes":`)
	out.Bytes = c.Int()
	c.Must(`,"good":`)
	out.Good = c.Int()
	c.Must(`,"owed":`)
	out.Owed = c.Int()
	c.Must(`,"disputed":`)
	out.Disputed = c.Int()
	c.Must(`}`)
	if c.Done() {
		*t = out
	}
	return c.Done()
}

// ParseJSON reads the root as the programs write it.
func (r *Root) ParseJSON(text []byte) bool {
	c, out := agree.NewScanner(text), Root{}
	c.Must(`{"files":`)
	out.Files = c.Int()
	c.Must(`,"bytes":`)
	out.Bytes = c.Int()
	if c.Skip(`,"sum":`) {
		out.Sum = c.Digest()
	}
	c.Must(`}`)
	if c.Done() {
		*r = out
	}
	return c.Done()
}

// ParseJSON reads the entry as the programs write it.
func (f *File) ParseJSON(text []byte) bool {
	c, out := agree.NewScanner(text), File{}
	c.Must(`{"name":`)
	out.Name = FileName(c.Text())
	c.Must(`,"size":`)
	out.Size = c.Int()
	c.Must(`,"sha256":`)
	out.SHA256 = c.Digest()
	c.Must(`,"collection":`)
	out.Collection = cluster.CollectionName(c.Text())
	c.Must(`,"source":`)
	out.Source = agree.NodeID(c.Text())
	out.Released = c.Skip(`,"released":true`)
	c.Must(`,"added":`)
	out.Added = c.Time()
	if c.Skip(`,"job":`) {
		out.Job = c.Uint()
	}
	if c.Skip(`,"attempt":`) {
		out.Attempt = c.Number()
	}
	if c.Skip(`,"removed":`) {
		out.Removed = c.Time()
	}
	out.Reason = c.Optional(`,"reason":`)
	out.RemovedBy = c.Optional(`,"removedBy":`)
	if c.Skip(`,"hidden":`) {
		out.Hidden = c.Time()
	}
	if c.Skip(`,"until":`) {
		out.Until = c.Time()
	}
	if c.Skip(`,"lost":`) {
		out.Lost = c.Time()
	}
	out.LostWhy = c.Optional(`,"lostWhy":`)
	c.Must(`,"version":`)
	out.Version = c.Uint()
	if c.Skip(`,"copies":`) {
		out.Copies = make([]Copy, 0, 4)
		c.Each(func() { out.Copies = append(out.Copies, scanCopy(&c)) })
	}
	c.Must(`}`)
	if c.Done() {
		*f = out
	}
	return c.Done()
}

func scanCopy(c *agree.Scanner) (out Copy) {
	c.Must(`{"replica":`)
	out.Replica = cluster.ReplicaName(c.Text())
	c.Must(`,"state":`)
	out.State = scanState(c)
	out.Node = agree.NodeID(c.Optional(`,"node":`))
	if c.Skip(`,"found":`) {
		out.Found = c.Digest()
	}
	out.Reason = c.Optional(`,"reason":`)
	if c.Skip(`,"tries":`) {
		out.Tries = c.Number()
	}
	c.Must(`,"since":`)
	out.Since = c.Time()
	out.FileList = FileListStatus(c.Optional(`,"fileList":`))
	out.Checksum = ChecksumStatus(c.Optional(`,"checksum":`))
	out.Disputed = c.Skip(`,"disputed":true`)
	out.Surplus = c.Skip(`,"surplus":true`)
	c.Must(`}`)
	return out
}

// scanState returns a store state; the known ones cost no memory.
func scanState(c *agree.Scanner) StoreState {
	switch text := c.Quoted(); string(text) {
	case string(UploadStarted):
		return UploadStarted
	case string(UploadCompleted):
		return UploadCompleted
	default:
		return StoreState(text)
	}
}
