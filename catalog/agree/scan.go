package agree

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strconv"
)

// Parser reads itself from JSON in the form in which the programs write it: the fields in their order, no spaces, no
// escapes. It returns false and changes nothing if the text has any other form, right or wrong: then encoding/json
// decides what the text means. Text that it accepts has the same meaning for encoding/json.
type Parser interface {
	ParseJSON(text []byte) bool
}

// Scanner walks over a JSON text. Once something is not as expected it stays bad.
type Scanner struct {
	rest []byte
	bad  bool
}

// NewScanner begins at the start of a text.
func NewScanner(text []byte) Scanner { return Scanner{rest: text} }

// Done reports whether the text was read to its end and all was as expected.
func (c *Scanner) Done() bool { return !c.bad && len(c.rest) == 0 }

// Skip passes over the literal if it comes next.
func (c *Scanner) Skip(literal string) bool {
	if c.bad || len(c.rest) < len(literal) || string(c.rest[:len(literal)]) != literal {
		return false
	}
	c.rest = c.rest[len(literal):]
	return true
}

// Must passes over the literal, which has to come next.
func (c *Scanner) Must(literal string) {
	if !c.Skip(literal) {
		c.bad = true
	}
}

// Quoted returns the bytes between the quotes that come next.
func (c *Scanner) Quoted() []byte {
	if !c.Skip(`"`) {
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

// Text returns the text that comes next.
func (c *Scanner) Text() string { return string(c.Quoted()) }

// Optional returns the text after name, or nothing when name does not come next.
func (c *Scanner) Optional(name string) string {
	if !c.Skip(name) {
		return ""
	}
	return c.Text()
}

// digits returns the next number, of at most that many digits.
func (c *Scanner) digits(most int) uint64 {
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

// Uint returns a number of up to 19 digits, which fit.
func (c *Scanner) Uint() uint64 { return c.digits(19) }

// Int returns a number of up to 18 digits, which fit.
func (c *Scanner) Int() int64 {
	if c.Skip("-") {
		return -int64(c.digits(18))
	}
	return int64(c.digits(18))
}

// Number returns a number of the machine's size.
func (c *Scanner) Number() int {
	n := c.Int()
	if strconv.IntSize < 64 && int64(int(n)) != n {
		c.bad = true
	}
	return int(n)
}

// Time returns the time that comes next.
func (c *Scanner) Time() Time { return Time(c.Int()) }

// Digest returns the digest that comes next.
func (c *Scanner) Digest() (d Digest) {
	text := c.Quoted()
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

// Base64 returns the bytes that come next.
func (c *Scanner) Base64() []byte {
	out, err := base64.StdEncoding.AppendDecode([]byte{}, c.Quoted())
	if err != nil {
		c.bad = true
	}
	return out
}

// Each calls item for each item of the array that comes next, which must not be empty.
func (c *Scanner) Each(item func()) {
	c.Must(`[`)
	for more := true; more && !c.bad; more = c.Skip(`,`) {
		item()
	}
	c.Must(`]`)
}

// Tail returns the text between here and the last closing bracket of an object.
func (c *Scanner) Tail() []byte {
	text, whole := bytes.CutSuffix(c.rest, []byte{'}'})
	if !whole {
		c.bad = true
	}
	c.rest = nil
	return text
}
