package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"holdfast/access"
	"holdfast/api/wire"
	"holdfast/catalog"
)

// upload is the input of PUT content. The body is not read before the handler does.
type upload struct {
	ByName
	SHA256     string `header:"Holdfast-SHA256" doc:"the body's SHA-256, 64 hexadecimal digits; another body is refused"`
	Collection string `header:"Holdfast-Collection" doc:"collection; default: the cluster's first"`
	body       io.Reader
	size       int64
}

// Resolve takes the body from the request.
func (u *upload) Resolve(ctx huma.Context) []error {
	r, w := humago.Unwrap(ctx)
	u.body = &steadyReader{from: r.Body, control: http.NewResponseController(w)}
	u.size = r.ContentLength
	return nil
}

func (s files) contentRoutes(api huma.API) {
	binary := map[string]*huma.MediaType{"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString,
		Format: "binary"}}}
	fault := &huma.Schema{Ref: "#/components/schemas/ErrorModel"}
	problems := map[string]*huma.MediaType{"application/problem+json": {Schema: fault}}
	register(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/files/{name}/content",
		id: "file-get", tag: "files",
		summary: "Get a file's bytes from a verified copy; supports ranges and If-Range", stream: true,
		adjust: func(op *huma.Operation) {
			op.Responses = map[string]*huma.Response{
				"200": {Description: "The whole file; its ETag and Holdfast-SHA256 are its SHA-256", Content: binary},
				"206": {Description: "The ranges asked for", Content: binary},
				"304": {Description: "The file that the client has is the one"},
				"410": {Description: "The file was removed", Content: problems},
				"412": {Description: "A condition of the request does not hold"},
				"416": {Description: "The file has no such range"},
				"451": {Description: "Something in the file may not be shown to the caller", Content: problems},
			}
		}}, s.download)
	handle(s.server, api, route{act: catalog.PutFile, within: ofUpload(s.server), method: http.MethodPut,
		path: "/api/v1/files/{name}/content", id: "file-put", tag: "files",
		summary: "Put a file into the archive; putting the same bytes again under the same name is no error",
		stream:  true, status: http.StatusCreated,
		adjust: func(op *huma.Operation) { op.RequestBody = &huma.RequestBody{Required: true, Content: binary} }},
		func(ctx context.Context, in *upload) (wire.File, error) {
			put := PutRequest{
				Name: catalog.FileName(in.Name), Collection: catalog.CollectionName(in.Collection), Size: in.size,
				Body: in.body, Actor: callerOf(ctx).Actor,
			}
			f, err := s.put(ctx, put, in.SHA256)
			if err != nil {
				return wire.File{}, err
			}
			return s.shown(string(f.Name))
		})
}

// put checks everything that can be checked before the body is read, so that a refusal is cheap; then it reads the
// body. The body of a file that the archive has is read too, unless there is a verified copy of it: the body may be
// the only good copy.
func (s files) put(ctx context.Context, put PutRequest, digest string) (catalog.File, error) {
	if err := put.Name.Check(); err != nil {
		return catalog.File{}, problem(http.StatusUnprocessableEntity, wire.CodeInvalid, err.Error())
	}
	if err := put.SHA256.UnmarshalText([]byte(digest)); err != nil {
		return catalog.File{}, problem(http.StatusUnprocessableEntity, wire.CodeInvalid,
			wire.DigestHeader+": "+err.Error())
	}
	there, err := s.file(string(put.Name))
	switch {
	case errors.Is(err, ErrNotFound):
		if err := s.kept(put.Collection); err != nil {
			return catalog.File{}, err
		}
	case err != nil:
		return catalog.File{}, err
	case there.Removed != 0:
		return catalog.File{}, problem(http.StatusConflict, wire.CodeConflict,
			fmt.Sprintf("file %s was removed; a name is used once", put.Name))
	case there.Hidden != 0:
		return catalog.File{}, hiddenAlready(there)
	case !put.SHA256.IsZero() && there.SHA256 == put.SHA256:
		stands, err := s.verified(ctx, there.Name)
		if err != nil {
			return catalog.File{}, err
		}
		if stands != nil {
			return *stands, nil
		}
	case !put.SHA256.IsZero(), put.Size >= 0 && put.Size != there.Size:
		return catalog.File{}, problem(http.StatusConflict, wire.CodeConflict,
			fmt.Sprintf("file %s is in the archive with other content, SHA-256 %s", put.Name, there.SHA256))
	}
	f, err := s.archive.Put(ctx, put)
	if err == nil && f.Hidden != 0 { // it was removed meanwhile
		return catalog.File{}, hiddenAlready(f)
	}
	return f, err
}

// hiddenAlready refuses a put of a file that was removed, and can be restored.
func hiddenAlready(f catalog.File) error {
	return problem(http.StatusConflict, wire.CodeConflict,
		f.Gone()+"; restore it instead of putting it again: a name is used once")
}

// kept refuses a new file of a collection whose bytes no replica is meant to hold: its only copy would stay where it
// was put, for ever.
func (s files) kept(collection catalog.CollectionName) error {
	var holds bool
	err := s.Catalog.View(func(v catalog.View) error {
		replicas, err := v.Replicas()
		for _, r := range replicas {
			holds = holds || r.Kind == catalog.Bitarchive && r.Holds(collection)
		}
		return err
	})
	if err == nil && !holds {
		return problem(http.StatusConflict, wire.CodeConflict, fmt.Sprintf("no replica holds the bytes of collection "+
			"%s: add one, or have one hold it too", collection))
	}
	return err
}

// verified returns the entry of a file if a living node has a verified copy of the bytes, or nil. A source alone does
// not count, because nobody has read its bytes since they came; nor does a node that still has to compare its copies
// with a recovered catalog. If it cannot be decided now, the copy counts as not verified.
func (s files) verified(ctx context.Context, name catalog.FileName) (stands *catalog.File, err error) {
	if s.Catalog.Linear(ctx) != nil {
		return nil, nil // the state here may be an old one
	}
	presence := s.self.Status(ctx).Presence
	err = s.Catalog.View(func(v catalog.View) error {
		f, err := v.File(name)
		if err != nil {
			return err
		}
		holders, err := v.CoveringFile(&f)
		for _, h := range holders {
			epoch, err := v.Unproved(h.Node)
			if err != nil {
				return err
			}
			if !h.Source && epoch == 0 && presence[h.Node].State == "alive" {
				stands = &f
			}
		}
		return err
	})
	return stands, err
}

// downloading is the input of file-get.
type downloading struct {
	ByName
	Replica string `query:"replica" maxLength:"64" doc:"read this replica's copy alone; refused when that is not good"`
}

// download answers with the file's bytes as net/http serves content: ranges, conditions, HEAD.
func (s files) download(ctx context.Context, in *downloading) (*huma.StreamResponse, error) {
	f, err := s.file(in.Name)
	if err != nil {
		return nil, err
	}
	if f.RemovedAt() != 0 {
		return nil, problem(http.StatusGone, wire.CodeNotFound, f.Gone())
	}
	now, err := s.opened(ctx, f)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		content := &content{ctx: ctx, archive: s.archive, file: f, replica: catalog.ReplicaName(in.Replica),
			stop: rangeEnd(r.Header.Get("Range"), f.Size)}
		defer content.close()
		if r.Method == http.MethodHead && f.Size > 0 || in.Replica != "" {
			// The first byte is asked for, so that an archive that cannot answer is an error and not an empty 200.
			if err := content.open(); err != nil {
				s.write(nil, hc, s.explain(err))
				return
			}
		}
		tellUnconfirmed(w.Header(), now)
		held := &heldHeader{ResponseWriter: w}
		header := held.Header()
		header.Set("Content-Type", "application/octet-stream")
		header.Set("ETag", `"`+f.SHA256.String()+`"`)
		header.Set(wire.DigestHeader, f.SHA256.String())
		header.Set("Content-Disposition", `attachment; filename="`+string(f.Name)+`"`)
		http.ServeContent(&steadyWriter{ResponseWriter: held, control: http.NewResponseController(w)}, r, "",
			f.Added.Std(), content)
		switch {
		case content.failed == nil:
			held.send()
		case held.sent:
			s.log.Warn("file not sent to its end", "file", f.Name, "offset", content.offset, "error", content.failed)
			panic(http.ErrAbortHandler) // the client must see a broken connection, not a short file
		default:
			held.forget()
			s.write(nil, hc, s.explain(content.failed))
		}
	}}, nil
}

// opened refuses a file in which there is something that the caller may not see.
func (s files) opened(ctx context.Context, f catalog.File) (access.InForce, error) {
	sight, now, err := sightOf(ctx, s.server)
	if err != nil || !now.Closing() {
		return now, err
	}
	why, err := s.contents.Closed(ctx, f, sight)
	if err == nil && why != "" {
		err = problem(http.StatusUnavailableForLegalReasons, wire.CodeForbidden,
			fmt.Sprintf("file %s is closed to you: %s", f.Name, why))
	}
	return now, err
}

// rangeEnd returns where one range of a file ends, so that no more is asked of a copy; the file's end for all else.
func rangeEnd(header string, size int64) int64 {
	first, last, ok := strings.Cut(strings.TrimPrefix(header, "bytes="), "-")
	from, err1 := strconv.ParseInt(first, 10, 64)
	to, err2 := strconv.ParseInt(last, 10, 64)
	if !ok || err1 != nil || err2 != nil || from < 0 || to < from || to >= size {
		return size
	}
	return to + 1
}

// heldHeader keeps the status back until the first byte of the body, so that what cannot be read is still an error.
type heldHeader struct {
	http.ResponseWriter
	status int
	sent   bool
}

// WriteHeader implements http.ResponseWriter.
func (w *heldHeader) WriteHeader(status int) { w.status = status }

// Write implements http.ResponseWriter.
func (w *heldHeader) Write(p []byte) (int, error) {
	w.send()
	return w.ResponseWriter.Write(p)
}

// send lets the status go, if there is one.
func (w *heldHeader) send() {
	if !w.sent && w.status != 0 {
		w.ResponseWriter.WriteHeader(w.status)
	}
	w.sent = true
}

// forget drops the header fields about the file.
func (w *heldHeader) forget() {
	for _, name := range []string{"Accept-Ranges", "Content-Disposition", "Content-Length", "Content-Range",
		"Content-Type", "ETag",
		"Last-Modified", wire.DigestHeader} {
		w.Header().Del(name)
	}
}

// Unwrap gives net/http the writer itself.
func (w *heldHeader) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// content reads a file of the archive from wherever it is positioned.
type content struct {
	ctx     context.Context
	archive Archive
	file    catalog.File
	replica catalog.ReplicaName // whose copy alone is read; empty: any
	stop    int64               // how far is expected to be read
	offset  int64               // where the next Read reads
	from    io.ReadCloser       // open, or nil
	at      int64               // the position of from
	failed  error
}

// open opens the file at the offset.
func (c *content) open() error {
	if c.stop <= c.offset {
		c.stop = c.file.Size
	}
	var from io.ReadCloser
	var err error
	if c.replica == "" {
		from, err = c.archive.Open(c.ctx, c.file.Name, c.offset, c.stop-c.offset)
	} else {
		from, err = c.archive.OpenCopy(c.ctx, c.file.Name, c.replica, c.offset, c.stop-c.offset)
	}
	if err != nil {
		return err
	}
	c.from, c.at = from, c.offset
	return nil
}

// Read reads on at the offset.
func (c *content) Read(p []byte) (int, error) {
	if c.offset >= c.file.Size {
		return 0, io.EOF
	}
	if c.from != nil && (c.at != c.offset || c.at == c.stop) {
		c.close()
	}
	if c.from == nil {
		if err := c.open(); err != nil {
			c.failed = err
			return 0, err
		}
	}
	n, err := c.from.Read(p)
	c.at += int64(n)
	c.offset = c.at
	switch {
	case err == io.EOF && c.offset < c.stop:
		err = io.ErrUnexpectedEOF
	case err == io.EOF && n > 0 && c.offset < c.file.Size:
		err = nil
	}
	if err != nil && err != io.EOF {
		c.failed = err
	}
	return n, err
}

// Seek sets the offset. The file is opened again only if a Read follows at another position.
func (c *content) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += c.offset
	case io.SeekEnd:
		offset += c.file.Size
	}
	if offset < 0 {
		return 0, fmt.Errorf("seek %s to %d", c.file.Name, offset)
	}
	c.offset = offset
	return offset, nil
}

func (c *content) close() {
	if c.from != nil {
		_ = c.from.Close()
		c.from = nil
	}
}

// steadyReader gives each read of a body its own time, so that a slow upload lives and a silent one ends.
type steadyReader struct {
	from    io.Reader
	control *http.ResponseController
}

func (r *steadyReader) Read(p []byte) (int, error) {
	if err := r.control.SetReadDeadline(time.Now().Add(idleTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return r.from.Read(p)
}

// steadyWriter does the same for an answer.
type steadyWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w *steadyWriter) Write(p []byte) (int, error) {
	if err := w.control.SetWriteDeadline(time.Now().Add(idleTime)); err != nil &&
		!errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap gives net/http the writer itself.
func (w *steadyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
