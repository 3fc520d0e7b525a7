package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// maxMessage is the longest that Chromium may say at once: a picture is the longest thing.
const maxMessage = 96 << 20

// pipe speaks the DevTools protocol: JSON messages, each ended by a zero byte. It is safe for concurrent use.
type pipe struct {
	kill func()
	out  *os.File

	writing sync.Mutex

	mu      sync.Mutex
	next    int
	waiting map[int]chan message
	handle  func(message) // is called with each event, one after another; must not call
	failed  error         // why nothing more comes

	done chan struct{}
}

// message is one of the protocol.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

func newPipe(to, from *os.File, kill func()) *pipe {
	p := &pipe{kill: kill, out: to, waiting: map[int]chan message{}, done: make(chan struct{})}
	go p.read(from)
	return p
}

// read handles Chromium's messages until the pipe ends.
func (p *pipe) read(from io.Reader) {
	defer close(p.done)
	r := bufio.NewReaderSize(from, 64<<10)
	var failure error
	for {
		line, err := readMessage(r)
		if err != nil {
			failure = err
			break
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			failure = fmt.Errorf("message of the browser: %w", err)
			break
		}
		p.take(m)
	}
	p.kill()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = fmt.Errorf("%w: %w", ErrCrashed, failure)
	for id, c := range p.waiting {
		close(c)
		delete(p.waiting, id)
	}
}

// readMessage reads up to a zero byte.
func readMessage(r *bufio.Reader) ([]byte, error) {
	var whole []byte
	for {
		piece, err := r.ReadSlice(0)
		if len(whole)+len(piece) > maxMessage {
			return nil, errors.New("message too long")
		}
		switch {
		case err == nil && whole == nil:
			return piece[:len(piece)-1], nil
		case err == nil:
			return append(whole, piece[:len(piece)-1]...), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
		whole = append(whole, piece...)
	}
}

func (p *pipe) take(m message) {
	p.mu.Lock()
	if m.ID == 0 {
		handle := p.handle
		p.mu.Unlock()
		if handle != nil {
			handle(m)
		}
		return
	}
	c := p.waiting[m.ID]
	delete(p.waiting, m.ID)
	p.mu.Unlock()
	if c != nil {
		c <- m
	}
}

// events sets the function that is called with events; nil for none.
func (p *pipe) events(handle func(message)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handle = handle
}

// send sends a command; the answer comes over the channel, which is closed if there will be none.
func (p *pipe) send(session, method string, params any) (<-chan message, int, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", method, err)
	}
	if params == nil {
		raw = nil
	}
	c := make(chan message, 1)
	p.mu.Lock()
	if p.failed != nil {
		defer p.mu.Unlock()
		return nil, 0, p.failed
	}
	p.next++
	id := p.next
	p.waiting[id] = c
	p.mu.Unlock()
	text, err := json.Marshal(message{ID: id, Session: session, Method: method, Params: raw})
	if err == nil {
		p.writing.Lock()
		_, err = p.out.Write(append(text, 0))
		p.writing.Unlock()
	}
	if err != nil {
		p.forget(id)
		return nil, 0, fmt.Errorf("%w: %s: %w", ErrCrashed, method, err)
	}
	return c, id, nil
}

// tell sends a command whose answer does not matter.
func (p *pipe) tell(session, method string, params any) {
	if _, id, err := p.send(session, method, params); err == nil {
		p.forget(id)
	}
}

func (p *pipe) forget(id int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, id)
}

// errRefused reports that Chromium refused a command.
var errRefused = errors.New("refused by the browser")

// call sends a command and waits for its result.
func (p *pipe) call(ctx context.Context, session, method string, params, result any) error {
	c, id, err := p.send(session, method, params)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		p.forget(id)
		return fmt.Errorf("%w: %s: %w", ErrHung, method, context.Cause(ctx))
	case m, ok := <-c:
		switch {
		case !ok:
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.failed
		case m.Error != nil:
			return fmt.Errorf("%s: %w: %.200s", method, errRefused, m.Error.Message)
		case result == nil:
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("%s: result: %w", method, err)
		}
		return nil
	}
}

// close waits until reading has ended. The process must have been ended.
func (p *pipe) close() { <-p.done }
