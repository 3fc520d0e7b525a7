package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// bars are progress bars on stderr, if that is a terminal; otherwise nothing is shown.
type bars struct{ progress *mpb.Progress }

func (a *app) bars() bars {
	f, ok := a.stderr.(*os.File)
	if !ok || a.JSON || !term.IsTerminal(int(f.Fd())) {
		return bars{}
	}
	return bars{mpb.NewWithContext(a.ctx, mpb.WithOutput(a.stderr), mpb.WithWidth(40))}
}

// bar is one bar with its rate, the time left, and the item worked on now. A nil bar accepts all calls and shows
// nothing.
type bar struct {
	bar  *mpb.Bar
	pace pace
}

// pace measures how fast a bar moves since it was first set, so that work done before that does not count.
type pace struct {
	mu    sync.Mutex
	unit  func(perSecond float64) string
	began time.Time
	base  int64
	on    string // the item worked on
}

// bytes adds a bar that counts bytes; count one that counts things.
func (b bars) bytes(name string, total int64) *bar {
	return b.add(name, total, decor.Counters(decor.SizeB1024(0), "% .1f / % .1f"),
		func(n float64) string { return size(int64(n)) + "/s" })
}

func (b bars) count(name string, total int64) *bar {
	return b.add(name, total, decor.CountersNoUnit("%d / %d"),
		func(n float64) string { return fmt.Sprintf("%.1f/s", n) })
}

func (b bars) add(name string, total int64, counters decor.Decorator, unit func(float64) string) *bar {
	if b.progress == nil {
		return nil
	}
	made := &bar{pace: pace{unit: unit, began: time.Now()}}
	made.bar = b.progress.AddBar(total, mpb.PrependDecorators(decor.Name(name+" ")), mpb.AppendDecorators(counters,
		decor.Any(func(s decor.Statistics) string { return made.pace.text(s.Current, s.Total, time.Now()) })))
	return made
}

// text is shown after the counters: the rate, the time left, the item worked on.
func (p *pace) text(current, total int64, now time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := ""
	if passed := now.Sub(p.began).Seconds(); passed >= 1 && current > p.base {
		rate := float64(current-p.base) / passed
		text = "  " + p.unit(rate)
		if left := float64(total - current); left > 0 {
			text += "  " + time.Duration(left/rate*float64(time.Second)).Round(time.Second).String() + " left"
		}
	}
	if p.on != "" {
		text += "  " + p.on
	}
	return text
}

// from says how much was done before this command began.
func (b *bar) from(done, total int64) {
	if b != nil {
		b.pace.mu.Lock()
		b.pace.base, b.pace.began = done, time.Now()
		b.pace.mu.Unlock()
		b.set(done, total)
	}
}

// on sets the item worked on now: a file, a host.
func (b *bar) on(what string) {
	if b != nil {
		b.pace.mu.Lock()
		b.pace.on = what
		b.pace.mu.Unlock()
	}
}

// set moves the bar.
func (b *bar) set(done, total int64) {
	if b != nil {
		b.bar.SetTotal(max(total, done+1), false)
		b.bar.SetCurrent(done)
	}
}

// end completes the bar; without success it is left as it is.
func (b *bar) end(done bool) {
	switch {
	case b == nil:
	case done:
		b.bar.SetTotal(b.bar.Current(), true)
	default:
		b.bar.Abort(false)
	}
}

// reader counts the bytes read on the bar.
func (b *bar) reader(r io.Reader) io.Reader {
	if b == nil {
		return r
	}
	return io.TeeReader(r, counter{b})
}

type counter struct{ bar *bar }

func (c counter) Write(p []byte) (int, error) {
	c.bar.bar.IncrBy(len(p))
	return len(p), nil
}

// wait lets the last state be drawn.
func (b bars) wait() {
	if b.progress != nil {
		b.progress.Wait()
	}
}
