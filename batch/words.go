package batch

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"holdfast/cdx"
	"holdfast/warc"
)

// page is what the program words says of one HTML page.
type page struct {
	URL       string         `json:"url"`
	Timestamp string         `json:"timestamp"`
	File      string         `json:"file"`
	Offset    int64          `json:"offset"`
	Words     map[string]int `json:"words"`
	Cut       bool           `json:"cut,omitempty"`     // more of the page was not read
	Damaged   string         `json:"damaged,omitempty"` // why its content cannot be read to its end

	most int // different words that are kept
	full bool
}

// wordCosts is about what one more word takes of memory, in the map and in the line that is made of it.
const wordCosts = 256

// longestWord bounds a word in bytes: what is longer is data.
const longestWord = 100

// words writes the words of a record that is an HTML page.
func words(env *Env, rec *warc.Record, out io.Writer) error {
	if !rec.IsHTTP() || rec.Type != warc.TypeResponse {
		return nil
	}
	head, err := rec.HTTP()
	if err != nil {
		return nil
	}
	given := head.Header.Get("Content-Type")
	kind, _, _ := strings.Cut(strings.ToLower(given), ";")
	if kind = strings.TrimSpace(kind); kind != "text/html" && kind != "application/xhtml+xml" {
		return nil
	}
	one := page{URL: rec.TargetURI(), File: string(env.File.Name), Offset: rec.Offset, Words: map[string]int{}}
	if date, err := rec.Date(); err == nil {
		one.Timestamp = cdx.Timestamp(date)
	}
	one.most = int(max(env.Memory/wordCosts, 1000))
	if err := one.read(rec, given, max(env.Memory/8, 1<<20)); err != nil {
		return err
	}
	line, err := json.Marshal(&one)
	if err != nil {
		return err
	}
	_, err = out.Write(append(line, '\n'))
	return err
}

// read counts the words of a page, in at most that number of bytes. An error means that the record is damaged, not what
// the server sent.
func (p *page) read(rec *warc.Record, given string, most int64) error {
	content, err := rec.Content()
	if err != nil {
		p.Damaged = err.Error()
		return nil
	}
	bounded := &io.LimitedReader{R: content, N: most}
	text, err := charset.NewReader(bounded, given)
	if err == nil {
		err = p.count(text)
	}
	p.Cut = bounded.N <= 0 || p.full
	if closing := content.Close(); err == nil {
		err = closing
	}
	broken := (*warc.Error)(nil)
	if errors.As(err, &broken) {
		return err
	}
	if err != nil && !errors.Is(err, io.EOF) {
		p.Damaged = err.Error()
	}
	return nil
}

// count counts the words of the text that a browser would show.
func (p *page) count(text io.Reader) error {
	tokens := html.NewTokenizer(text)
	tokens.SetMaxBuf(1 << 20)
	hidden := "" // the element whose text is not shown
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return tokens.Err()
		case html.TextToken:
			if hidden == "" {
				p.add(string(tokens.Text()))
			}
			if p.full {
				return io.EOF
			}
		case html.StartTagToken:
			name, _ := tokens.TagName()
			switch tag := string(name); tag {
			case "script", "style", "template", "noscript":
				if hidden == "" {
					hidden = tag
				}
			}
		case html.EndTagToken:
			if name, _ := tokens.TagName(); string(name) == hidden {
				hidden = ""
			}
		}
	}
}

func (p *page) add(text string) {
	apart := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) }
	for _, word := range strings.FieldsFunc(text, apart) {
		if len(word) > longestWord {
			continue
		}
		word = strings.ToLower(word)
		if p.Words[word] == 0 && len(p.Words) >= p.most {
			p.full = true
			return
		}
		p.Words[word]++
	}
}
