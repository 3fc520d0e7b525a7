package warc

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// short quotes a value for a message.
func short(s string) string { return fmt.Sprintf("%.80q", s) }

// mandatory checks what every record has to have, and settles its type.
func (c *checker) mandatory(rec *Record) {
	for _, name := range []string{"WARC-Record-ID", "WARC-Date", "WARC-Type"} {
		if rec.Header.Get(name) == "" {
			c.breach("missing-"+strings.ToLower(name), "")
		}
	}
	if own := rec.Header.Get("WARC-Type"); own != rec.Type {
		c.warn("type-case", short(own))
	}
	if !knownType(rec.Type) {
		c.warn("unknown-type", short(rec.Type))
	}
	if len(c.sum.Types) < 1000 {
		c.sum.Types[rec.Type]++
	}
	if c.sum.Records == 1 && rec.Type != TypeWarcinfo {
		c.warn("no-leading-warcinfo", "first record is "+short(rec.Type))
	}
	if date := rec.Header.Get("WARC-Date"); date != "" {
		if !validDate(rec.Version, date) {
			c.breach("date-format", fmt.Sprintf("%.40q in WARC/%s", date, rec.Version))
		} else if _, err := ParseDate(date); err != nil {
			c.breach("date-value", short(date))
		}
	}
}

func knownType(t string) bool {
	switch t {
	case TypeWarcinfo, TypeResponse, TypeRequest, TypeResource, TypeMetadata, TypeRevisit, TypeConversion,
		TypeContinuation:
		return true
	}
	return false
}

// old reports whether a version has dates to the second only.
func old(version string) bool { return version == "1.0" || version == "0.17" || version == "0.18" }

// validDate reports whether a date has the form that the version wants.
func validDate(version, date string) bool {
	shape := strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return 'd'
		}
		return r
	}, date)
	const second = "dddd-dd-ddTdd:dd:dd"
	switch shape {
	case second + "Z":
		return true
	case "dddd", "dddd-dd", "dddd-dd-dd", "dddd-dd-ddTdd:ddZ":
		return !old(version)
	}
	fraction, ok := strings.CutPrefix(shape, second+".")
	fraction, z := strings.CutSuffix(fraction, "Z")
	return ok && z && !old(version) && len(fraction) >= 1 && len(fraction) <= 9 && strings.Trim(fraction, "d") == ""
}

// repeated reports fields that may occur only once.
func (c *checker) repeated(rec *Record) {
	for i, f := range rec.Header {
		name := strings.ToLower(f.Name)
		if !onceOnly(name) {
			continue
		}
		for _, before := range rec.Header[:i] {
			if strings.EqualFold(before.Name, f.Name) {
				c.breach("repeated-field", name)
				break
			}
		}
	}
}

// onceOnly reports whether the standard allows a field, in lower case, only once.
func onceOnly(name string) bool {
	switch name {
	case "warc-record-id", "content-length", "warc-date", "warc-type", "content-type", "warc-block-digest",
		"warc-payload-digest", "warc-ip-address", "warc-refers-to", "warc-refers-to-target-uri", "warc-refers-to-date",
		"warc-target-uri", "warc-truncated", "warc-warcinfo-id", "warc-filename", "warc-profile",
		"warc-identified-payload-type", "warc-segment-number", "warc-segment-origin-id", "warc-segment-total-length":
		return true
	}
	return false
}

// isUUID reports whether an ID is "<urn:uuid:…>" as it should be.
func isUUID(id string) bool {
	s := strings.ToLower(bare(id))
	s, ok := strings.CutPrefix(s, "urn:uuid:")
	if !ok || len(s) != 36 {
		return false
	}
	for i := range len(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (s[i] == '-') || !dash && !strings.Contains("0123456789abcdef", s[i:i+1]) {
			return false
		}
	}
	return true
}

// fields checks the fields that depend on the type of the record.
func (c *checker) fields(rec *Record) {
	h, t := rec.Header, rec.Type
	c.targetURI(rec)
	for _, name := range []string{"WARC-Concurrent-To", "WARC-Refers-To", "WARC-Warcinfo-ID",
		"WARC-Segment-Origin-ID"} {
		for _, v := range h.Values(name) {
			if bare(v) == v || !absoluteURI(bare(v)) {
				c.breach(strings.ToLower(name)+"-syntax", short(v))
			}
			if len(c.refs) < maxTracked {
				c.refs = append(c.refs, strings.Clone(v))
			}
			if name == "WARC-Concurrent-To" && v == rec.ID() {
				c.breach("concurrent-to-itself", "")
			}
		}
	}
	isIn := func(types ...string) bool { return slices.Contains(types, t) }
	if h.Has("WARC-Concurrent-To") && isIn(TypeWarcinfo, TypeConversion, TypeContinuation) {
		c.breach("concurrent-to-in-"+t, "")
	}
	if h.Has("WARC-Warcinfo-ID") && t == TypeWarcinfo {
		c.breach("warcinfo-id-in-warcinfo", "")
	}
	if h.Get("WARC-Filename") != "" && t != TypeWarcinfo {
		c.breach("filename-outside-warcinfo", "")
	}
	if ip := h.Get("WARC-IP-Address"); ip != "" {
		if _, err := netip.ParseAddr(ip); err != nil {
			c.breach("ip-address", short(ip))
		}
		if isIn(TypeWarcinfo, TypeConversion, TypeContinuation) {
			c.breach("ip-address-in-"+t, "")
		}
	}
	switch reason := h.Get("WARC-Truncated"); reason {
	case "", "length", "time", "disconnect", "unspecified":
	default:
		c.warn("truncated-reason", short(reason))
	}
	if h.Get("WARC-Profile") != "" && t != TypeRevisit {
		c.breach("profile-outside-revisit", "")
	}
	if (h.Has("WARC-Refers-To-Target-URI") || h.Has("WARC-Refers-To-Date")) && t != TypeRevisit {
		c.warn("refers-to-target-outside-revisit", "")
	}
	if h.Has("WARC-Refers-To") && isIn(TypeWarcinfo, TypeResponse, TypeResource, TypeRequest, TypeContinuation) {
		c.breach("refers-to-in-"+t, "")
	}
	c.segments(rec)
	if rec.ContentType() == "" && rec.Size > 0 && t != TypeContinuation {
		c.warn("missing-content-type", t)
	}
}

// segments checks the fields of records that were split.
func (c *checker) segments(rec *Record) {
	h := rec.Header
	if rec.Type == TypeContinuation {
		for _, name := range []string{"WARC-Segment-Origin-ID", "WARC-Segment-Number"} {
			if h.Get(name) == "" {
				c.breach("missing-"+strings.ToLower(name), "")
			}
		}
	}
	if n := h.Get("WARC-Segment-Number"); n != "" && (!digits(n) || rec.Type != TypeContinuation && n != "1") {
		c.breach("segment-number", short(n))
	}
}

func (c *checker) targetURI(rec *Record) {
	uri := rec.Header.Get("WARC-Target-URI")
	if uri == "" {
		switch rec.Type {
		case TypeResponse, TypeResource, TypeRequest, TypeRevisit, TypeConversion, TypeContinuation:
			c.breach("missing-warc-target-uri", rec.Type)
		}
		return
	}
	if bare(uri) != uri && rec.Version == "1.1" {
		c.warn("uri-in-brackets", short(uri))
	}
	if !absoluteURI(bare(uri)) {
		c.breach("target-uri-syntax", short(uri))
	}
	if rec.Type == TypeWarcinfo {
		c.breach("target-uri-in-warcinfo", "")
	}
}

// revisit checks profile and references of a revisit record.
func (c *checker) revisit(rec *Record) {
	h := rec.Header
	profile := h.Get("WARC-Profile")
	if profile == "" {
		c.breach("missing-warc-profile", "")
		return
	}
	rest, ok := strings.CutPrefix(profile, "http://netpreserve.org/warc/1.")
	switch {
	case !ok || rest != "0/revisit/identical-payload-digest" && rest != "1/revisit/identical-payload-digest" &&
		rest != "0/revisit/server-not-modified" && rest != "1/revisit/server-not-modified":
		c.warn("unknown-profile", short(profile))
	case "1."+rest[:1] != rec.Version:
		c.warn("profile-version", fmt.Sprintf("%.80q in a WARC/%s record", profile, rec.Version))
	}
	if !strings.Contains(profile, "identical-payload-digest") {
		return
	}
	digest, uri, date := h.Get("WARC-Payload-Digest"), h.Get("WARC-Refers-To-Target-URI"), h.Get("WARC-Refers-To-Date")
	if digest == "" {
		c.breach("revisit-no-payload-digest", "")
	}
	if h.Get("WARC-Refers-To") == "" && uri == "" {
		c.warn("revisit-refers-to-nothing", "")
	}
	if (uri == "") != (date == "") {
		c.warn("revisit-half-reference", "only one of WARC-Refers-To-Target-URI and -Date")
	}
	seen, ok := c.payloads[digest]
	if ok && uri != "" && !slices.Contains(seen, bare(uri)+" "+date) {
		c.warn("revisit-target-not-matching", fmt.Sprintf("%.200q %.40q", uri, date))
	}
}

// remember keeps which capture had which payload, for the revisits that follow.
func (c *checker) remember(rec *Record) {
	digest := rec.Header.Get("WARC-Payload-Digest")
	seen := c.payloads[digest]
	if digest == "" || len(seen) >= 64 || seen == nil && len(c.payloads) >= maxTracked {
		return
	}
	c.payloads[strings.Clone(digest)] = append(seen, bare(rec.Header.Get("WARC-Target-URI"))+" "+rec.Header.Get(
		"WARC-Date"))
}
