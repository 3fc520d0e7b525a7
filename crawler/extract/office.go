package extract

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/flate"
)

// Parts of an Office document that are looked into, at most.
const maxParts = 512

// zipHeader is the length of the fixed part of the header that stands before each file of a ZIP.
const zipHeader = 30

// documents reads formats that are packed or are of media: PDF, Office documents, playlists, DASH.
type documents struct {
	*collector
	unpacker *unpacker
	markup   *markup // reads the scripts
}

// office finds the links of a document in Office Open XML or OpenDocument. Its parts are read where they stand, one
// after another, without the directory at the end, so that a beginning will do.
func (x *documents) office(b []byte) {
	left, parts := maxUnpacked, 0
	var inflate io.ReadCloser
	for left > 0 && parts < maxParts {
		i := bytes.Index(b, []byte("PK\x03\x04"))
		if i < 0 || len(b)-i < zipHeader {
			return
		}
		h := b[i:]
		b = h[4:]
		method, size := binary.LittleEndian.Uint16(h[8:]), int(binary.LittleEndian.Uint32(h[18:]))
		nameLen, extraLen := int(binary.LittleEndian.Uint16(h[26:])), int(binary.LittleEndian.Uint16(h[28:]))
		if zipHeader+nameLen+extraLen > len(h) {
			continue
		}
		read := x.officePart(h[zipHeader : zipHeader+nameLen])
		data := h[zipHeader+nameLen+extraLen:]
		if read == nil {
			if size <= len(data) {
				b = data[size:]
			}
			continue
		}
		parts++
		var text []byte
		switch method {
		case 0:
			text = data[:min(size, len(data), maxStream, left)]
		case 8:
			if inflate == nil {
				inflate = flate.NewReader(bytes.NewReader(data))
			} else if err := inflate.(flate.Resetter).Reset(bytes.NewReader(data), nil); err != nil {
				continue
			}
			text = x.unpacker.unpackFrom(inflate, min(maxStream, left))
		}
		left -= len(text)
		read(text)
	}
}

// officePart is how a part of that name is read, nil if there are no links in it.
func (x *documents) officePart(name []byte) func([]byte) {
	switch {
	case bytes.HasSuffix(name, []byte(".rels")):
		return x.relationships
	case string(name) == "content.xml", string(name) == "styles.xml", string(name) == "meta.xml":
		return x.openDocument
	case bytes.HasPrefix(name, []byte("word/")) && bytes.HasSuffix(name, []byte(".xml")),
		bytes.HasPrefix(name, []byte("xl/worksheets/")):
		return x.fieldCodes
	}
	return nil
}

// relationships reads the external targets that a part of Office Open XML refers to.
func (x *documents) relationships(b []byte) {
	s := xmlScanner{b: b}
	for t := s.next(); t != xmlDone; t = s.next() {
		if t != xmlStart || string(localName(s.name)) != "Relationship" || string(s.get("TargetMode")) != "External" {
			continue
		}
		hop := byte(Navlink)
		kind := s.get("Type")
		switch string(kind[bytes.LastIndexByte(kind, '/')+1:]) {
		case "image", "video", "audio", "media", "oleObject", "attachedTemplate", "externalLink", "frame",
			"subDocument":
			hop = Embed
		}
		if v := s.get("Target"); isHTTP(v) {
			x.add(v, hop, "Relationship/@Target")
		}
	}
}

// fieldCodes reads the hyperlinks in fields of a text and in formulas of a table.
func (x *documents) fieldCodes(b []byte) {
	s := xmlScanner{b: b}
	code := false
	for t := s.next(); t != xmlDone; t = s.next() {
		switch t {
		case xmlStart:
			name := string(localName(s.name))
			code = name == "instrText" || name == "f"
			if v := s.get("w:instr"); v != nil {
				x.fieldCode(v)
			}
		case xmlEnd:
			code = false
		case xmlText:
			if code {
				x.fieldCode(s.plain())
			}
		}
	}
}

// fieldCode reads HYPERLINK "http://…" and HYPERLINK("http://…").
func (x *documents) fieldCode(v []byte) {
	i := bytes.Index(v, []byte("HYPERLINK"))
	if i < 0 {
		return
	}
	_, v, _ = bytes.Cut(v[i:], []byte{'"'})
	if v, _, ok := bytes.Cut(v, []byte{'"'}); ok && isHTTP(v) {
		x.add(v, Navlink, navigation)
	}
}

// openDocument reads a part of an OpenDocument.
func (x *documents) openDocument(b []byte) {
	s := xmlScanner{b: b}
	for t := s.next(); t != xmlDone; t = s.next() {
		if t != xmlStart {
			continue
		}
		v := s.get("xlink:href")
		if !isHTTP(v) {
			continue
		}
		hop := byte(Embed)
		switch string(localName(s.name)) {
		case "a", "hyperlink", "area-polygon", "area-rectangle", "area-circle", "template":
			hop = Navlink
		}
		x.add(v, hop, nameOf(s.name)+"/@xlink:href")
	}
}
