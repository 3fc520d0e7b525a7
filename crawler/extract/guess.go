package extract

import "bytes"

// maxGuess is how many bytes beyond ASCII a guess is made from.
const maxGuess = 16 << 10

// maxGuessed is how far into a document a guess looks.
const maxGuessed = 1 << 20

// guessCharset guesses the character set of text that declares none and is not UTF-8. It looks at which pairs of
// bytes are well formed in each of the multi-byte sets and common in its languages, and then at which letters beyond
// ASCII follow each other. If nothing is more likely, it returns windows-1252, as the HTML standard demands.
func guessCharset(b []byte) string {
	b = b[:min(len(b), maxGuessed)]
	if i := bytes.IndexByte(b, 0x1b); i >= 0 && isISO2022JP(b) {
		return "iso-2022-jp"
	}
	best, top := "", 0.5
	for _, m := range multiByte {
		if score := m.score(b); score > top {
			best, top = m.name, score
		}
	}
	if best != "" {
		return best
	}
	return guessSingle(b)
}

func isISO2022JP(b []byte) bool {
	for _, escape := range []string{"\x1b$B", "\x1b$@", "\x1b(J"} {
		if bytes.Contains(b, []byte(escape)) {
			return true
		}
	}
	return false
}

// multi is a character set of one or two bytes.
type multi struct {
	name   string
	lead   func(c byte) bool
	trail  func(c byte) bool
	single func(c byte) bool       // a character of one byte beyond ASCII
	common func(c, d byte) float64 // how typical a pair is of the set's languages
}

func between(low, high byte) func(byte) bool {
	return func(c byte) bool { return c >= low && c <= high }
}

func never(byte) bool { return false }

// multiByte are the sets that are told apart, with the typical pairs of each: in euc-jp and shift_jis the kana, which
// every Japanese text has; in the Chinese and Korean sets the rows of common characters.
var multiByte = [...]multi{
	{"euc-jp", func(c byte) bool { return c >= 0xa1 && c <= 0xfe || c == 0x8e }, between(0xa1, 0xfe), never,
		func(c, _ byte) float64 {
			switch {
			case c == 0xa4 || c == 0xa5:
				return 1.6
			case c >= 0xb0 && c <= 0xcf:
				return 0.55
			}
			return 0.4
		}},
	{"shift_jis", func(c byte) bool { return c >= 0x81 && c <= 0x9f || c >= 0xe0 && c <= 0xfc },
		func(c byte) bool { return c >= 0x40 && c <= 0xfc && c != 0x7f }, between(0xa1, 0xdf), func(c, d byte) float64 {
			switch {
			case c == 0x82 && d >= 0x9f, c == 0x83 && d <= 0x96:
				return 1.6
			case c >= 0x88 && c <= 0x97:
				return 0.7
			}
			return 0.2
		}},
	{"gbk", between(0x81, 0xfe), func(c byte) bool { return c >= 0x40 && c != 0x7f && c != 0xff }, never,
		func(c, d byte) float64 {
			switch {
			case c >= 0xb0 && c <= 0xd7 && d >= 0xa1:
				return 0.95
			case c == 0xa1 || c == 0xa3:
				return 0.8
			}
			return 0.1
		}},
	{"euc-kr", between(0xa1, 0xfe), between(0xa1, 0xfe), never, func(c, _ byte) float64 {
		switch {
		case c >= 0xb0 && c <= 0xc8:
			return 1.05
		case c == 0xa1:
			return 0.6
		}
		return 0
	}},
	{"big5", between(0xa1, 0xf9), func(c byte) bool { return c >= 0x40 && c <= 0x7e || c >= 0xa1 && c <= 0xfe }, never,
		func(c, d byte) float64 {
			switch {
			case c >= 0xa4 && c <= 0xc6:
				if d <= 0x7e {
					return 1.2
				}
				return 0.85
			case c == 0xa1:
				return 0.7
			}
			return 0.2
		}},
}

// score says how well the text reads in a set: 0 if it is impossible, 1 and more if every pair is a common one.
func (m *multi) score(b []byte) float64 {
	sum, pairs, broken := 0.0, 0, 0
	for i := 0; i < len(b) && pairs < maxGuess; i++ {
		c := b[i]
		switch {
		case c < 0x80:
		case i+1 < len(b) && m.lead(c) && m.trail(b[i+1]):
			sum += m.common(c, b[i+1])
			pairs++
			i++
		case m.single(c):
			sum += 0.2
			pairs++
		default:
			if broken++; broken > 64+pairs/50 {
				return 0
			}
		}
	}
	if pairs < 4 || broken > pairs/50 {
		return 0
	}
	return sum / float64(pairs)
}

// guessSingle tells Cyrillic from western text: its words are runs of bytes beyond ASCII. In windows-1251 the small
// letters are the upper 32, in koi8-r the lower ones of the upper 64.
func guessSingle(b []byte) string {
	letters, runs, upper, lower, rest := 0, 0, 0, 0, 0
	before := false
	for _, c := range b {
		high := c >= 0x80
		switch {
		case c >= 0xe0:
			upper++
		case c >= 0xc0:
			lower++
		case high:
			rest++
		}
		if high {
			letters++
			if !before {
				runs++
			}
			if letters >= maxGuess {
				break
			}
		}
		before = high
	}
	if letters < 8 || float64(letters) < 2.5*float64(runs) || rest > letters/4 {
		return "windows-1252"
	}
	if upper >= lower {
		return "windows-1251"
	}
	return "koi8-r"
}
