package catalog

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strconv"
)

// parser reads itself from JSON as the catalog's programs write it: the fields in their order, no spaces, no escapes.
// It reports false and changes nothing when the text is in any other form, be it right or wrong: then
// encoding/json has to say what the text means. What it does accept, encoding/json reads alike.
type parser interface {
	parse(text []byte) bool
}

// cursor walks over a JSON text. Once something is not as expected it stays bad.
type cursor struct {
	rest []byte
	bad  bool
}

// done reports whether the text was read to its end and all was as expected.
func (c *cursor) done() bool { return !c.bad && len(c.rest) == 0 }

// skip passes over the literal if it comes next.
func (c *cursor) skip(literal string) bool {
	if c.bad || len(c.rest) < len(literal) || string(c.rest[:len(literal)]) != literal {
		return false
	}
	c.rest = c.rest[len(literal):]
	return true
}

// must passes over the literal, which has to come next.
func (c *cursor) must(literal string) {
	if !c.skip(literal) {
		c.bad = true
	}
}

// quoted returns the bytes between the quotes that come next.
func (c *cursor) quoted() []byte {
	if !c.skip(`"`) {
		c.bad = true
		return nil
	}
	for i, b := range c.rest {
		if b == '"' {
			text := c.rest[:i]
			c.rest = c.rest[i+1:]
			return text
		}
		if b < ' ' || b >= 0x7f || b == '\\' {
			break
		}
	}
	c.bad = true
	return nil
}

func (c *cursor) text() string { return string(c.quoted()) }

// optional returns the text after name, or nothing when name does not come next.
func (c *cursor) optional(name string) string {
	if !c.skip(name) {
		return ""
	}
	return c.text()
}

// digits returns the number that comes next, of at most so many digits.
func (c *cursor) digits(most int) uint64 {
	n := 0
	for n < len(c.rest) && '0' <= c.rest[n] && c.rest[n] <= '9' {
		n++
	}
	if c.bad || n == 0 || n > most || n > 1 && c.rest[0] == '0' {
		c.bad = true
		return 0
	}
	var value uint64
	for _, d := range c.rest[:n] {
		value = 10*value + uint64(d-'0')
	}
	c.rest = c.rest[n:]
	return value
}

// uint returns a number of up to 19 digits, which fit.
func (c *cursor) uint() uint64 { return c.digits(19) }

// int returns a number of up to 18 digits, which fit.
func (c *cursor) int() int64 {
	if c.skip("-") {
		return -int64(c.digits(18))
	}
	return int64(c.digits(18))
}

// number returns a number of the machine's size.
func (c *cursor) number() int {
	n := c.int()
	if strconv.IntSize < 64 && int64(int(n)) != n {
		c.bad = true
	}
	return int(n)
}

func (c *cursor) time() Time { return Time(c.int()) }

func (c *cursor) digest() (d Digest) {
	text := c.quoted()
	if len(text) == 0 {
		return d
	}
	if len(text) != 2*len(d) {
		c.bad = true
		return Digest{}
	}
	if _, err := hex.Decode(d[:], text); err != nil {
		c.bad = true
	}
	return d
}

func (c *cursor) base64() []byte {
	out, err := base64.StdEncoding.AppendDecode([]byte{}, c.quoted())
	if err != nil {
		c.bad = true
	}
	return out
}

// each calls item for each item of the array that comes next, which must not be empty.
func (c *cursor) each(item func()) {
	c.must(`[`)
	for more := true; more && !c.bad; more = c.skip(`,`) {
		item()
	}
	c.must(`]`)
}

// tail returns what stands between here and the last closing bracket of an object.
func (c *cursor) tail() []byte {
	text, whole := bytes.CutSuffix(c.rest, []byte{'}'})
	if !whole {
		c.bad = true
	}
	c.rest = nil
	return text
}
