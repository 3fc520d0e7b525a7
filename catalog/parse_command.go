package catalog

// readCommand reads a command of the log, and its body too when that is of a frequent kind and in the form in which
// the catalog's programs write it.
func readCommand(data []byte) (c Command, body any, err error) {
	if c.parse(data) {
		if body := c.parseBody(); body != nil {
			return c, body, nil
		}
	}
	c = Command{}
	err = decodeStrict(data, &c)
	return c, nil, err
}

// parseBody returns the body, or nil when it has to be read by other means.
func (k *Command) parseBody() any {
	var body parser
	switch k.Kind {
	case AddFiles:
		body = new(Additions)
	case ReportCopies:
		body = new(CopyReports)
	case ReleaseFiles:
		body = new(Releases)
	default:
		return nil
	}
	if !body.parse(k.Body) {
		return nil
	}
	return body
}

// parse reads a command, but leaves its body unread: whether that is JSON at all is for the body's own parser to say.
func (k *Command) parse(text []byte) bool {
	c, out := cursor{rest: text}, Command{}
	c.must(`{"v":`)
	out.Version = c.number()
	c.must(`,"k":`)
	out.Kind = c.kind()
	c.must(`,"at":`)
	out.At = c.time()
	out.Actor = c.optional(`,"actor":`)
	out.Node = NodeID(c.optional(`,"node":`))
	if c.skip(`,"boot":`) {
		out.Boot = c.uint()
	}
	if c.skip(`,"seq":`) {
		out.Seq = c.uint()
	}
	c.must(`,"body":`)
	out.Body = c.tail()
	if c.done() {
		*k = out
	}
	return c.done()
}

func (c *cursor) kind() Kind {
	switch text := c.quoted(); string(text) {
	case string(AddFiles):
		return AddFiles
	case string(ReportCopies):
		return ReportCopies
	case string(ReleaseFiles):
		return ReleaseFiles
	default:
		return Kind(text)
	}
}

func (a *Additions) parse(text []byte) bool {
	c, out := cursor{rest: text}, Additions{}
	c.must(`{"files":`)
	c.each(func() {
		var a Addition
		c.must(`{"name":`)
		a.Name = FileName(c.text())
		c.must(`,"size":`)
		a.Size = c.int()
		c.must(`,"sha256":`)
		a.SHA256 = c.digest()
		c.must(`,"collection":`)
		a.Collection = CollectionName(c.text())
		c.must(`,"source":`)
		a.Source = NodeID(c.text())
		if c.skip(`,"job":`) {
			a.Job = c.uint()
		}
		if c.skip(`,"attempt":`) {
			a.Attempt = c.number()
		}
		c.must(`}`)
		out.Files = append(out.Files, a)
	})
	c.must(`}`)
	if c.done() {
		*a = out
	}
	return c.done()
}

func (r *CopyReports) parse(text []byte) bool {
	c, out := cursor{rest: text}, CopyReports{}
	c.must(`{"node":`)
	out.Node = NodeID(c.text())
	c.must(`,"copies":`)
	c.each(func() {
		var r CopyReport
		c.must(`{"name":`)
		r.Name = FileName(c.text())
		c.must(`,"state":`)
		r.State = c.state()
		if c.skip(`,"sha256":`) {
			r.SHA256 = c.digest()
		}
		r.Reason = c.optional(`,"reason":`)
		c.must(`}`)
		out.Copies = append(out.Copies, r)
	})
	c.must(`}`)
	if c.done() {
		*r = out
	}
	return c.done()
}

func (r *Releases) parse(text []byte) bool {
	c, out := cursor{rest: text}, Releases{}
	c.must(`{"node":`)
	out.Node = NodeID(c.text())
	c.must(`,"files":`)
	c.each(func() { out.Files = append(out.Files, FileName(c.text())) })
	c.must(`}`)
	if c.done() {
		*r = out
	}
	return c.done()
}
