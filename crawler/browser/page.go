package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
)

// Page is a page to load.
type Page struct {
	URL        string
	Web        Web
	Time       time.Duration // that it may take, waits for turns not counted
	Quiet      time.Duration // it is done when it has requested nothing for this long
	Screenshot bool
}

// Link is one that the page has after its scripts have run.
type Link struct {
	URL  string `json:"url"`
	From string `json:"from"` // where it was found, as "a/@href"
}

// Rendered is what became of a page.
type Rendered struct {
	Links      []Link
	Text       string
	Title      string
	Screenshot []byte // PNG; nil if none was wanted, or none could be taken
	Left       string // where a script wanted to lead the browser, "" for nowhere
	TimedOut   bool   // it did not become quiet in its time
	Took       time.Duration
	Memory     int64 // the most that the browser used meanwhile
}

// Limits of a page besides those that the caller sets.
const (
	callTime      = 30 * time.Second // for Chromium to do one thing; at most what the page may take,
	leastCallTime = 5 * time.Second  // but at least this
	overtime      = 10               // a page may take its time limit this many times, all waits included
	maxScrolls    = 60
	maxReloads    = 2      // of a page, by itself
	maxPicture    = 12_000 // pixels of height
	watchEvery    = 250 * time.Millisecond
	beforeScroll  = 500 * time.Millisecond
	scrollSettle  = 150 * time.Millisecond
)

// Load loads a page. After an error the browser is of no more use: Close it. The errors are ErrCrashed, ErrHung,
// ErrMemory, or the context's. All that the page asked for has ended when Load returns.
func (b *Browser) Load(ctx context.Context, page Page) (*Rendered, error) {
	begin := time.Now()
	b.pages++
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, stop := context.WithTimeoutCause(ctx, overtime*page.Time+4*callTime, ErrHung)
	defer stop()
	l := newLoad(ctx, page.Web)
	b.proxy.begin(l)
	defer b.proxy.end(l)
	t := &tab{b: b, page: page, load: l, out: &Rendered{}}
	var watched sync.WaitGroup
	done := make(chan struct{})
	watched.Go(func() { t.watch(ctx, done, cancel) })
	err := t.show(ctx)
	close(done)
	watched.Wait()
	b.pipe.events(nil)
	if cause := context.Cause(ctx); cause != nil {
		err = cause // the rest follows from it
	}
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", page.URL, err)
	}
	t.out.Took = time.Since(begin)
	return t.out, nil
}

// tab is a page in the browser.
type tab struct {
	b       *Browser
	page    Page
	load    *load
	out     *Rendered
	target  string
	session string
	world   int
	spent   time.Duration // of the page's time

	mu      sync.Mutex
	started bool // the page itself was asked for
	loaded  bool
	aborted bool // it wanted to lead the browser away: perhaps it will never be loaded
	reloads int  // of the page, by itself
	left    string
	crashed bool
}

// watch ends the browser when it takes too much memory or the page's time is over for good.
func (t *tab) watch(ctx context.Context, done <-chan struct{}, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			t.b.process.kill()
			return
		case <-tick.C:
		}
		m := t.b.process.memory()
		t.out.Memory = max(t.out.Memory, m)
		if limit := t.b.cfg.MaxMemory; limit > 0 && m > limit {
			cancel(fmt.Errorf("%w: %d bytes, %d are allowed", ErrMemory, m, limit))
		}
	}
}

// show takes the page through all that is done with it.
func (t *tab) show(ctx context.Context) error {
	var made struct{ BrowserContextID, TargetID, SessionID, FrameID, ErrorText string }
	if err := t.call(ctx, "Target.createBrowserContext", map[string]any{"disposeOnDetach": true,
		"proxyServer": "http://" + t.b.proxy.address(), "proxyBypassList": "<-loopback>"}, &made); err != nil {
		return err
	}
	if err := t.call(ctx, "Browser.setDownloadBehavior",
		map[string]any{"behavior": "deny", "browserContextId": made.BrowserContextID}, nil); err != nil {
		return err
	}
	if err := t.call(ctx, "Target.createTarget", map[string]any{"url": "about:blank",
		"browserContextId": made.BrowserContextID,
		"width":            windowWidth, "height": windowHeight}, &made); err != nil {
		return err
	}
	t.target = made.TargetID
	if err := t.call(ctx, "Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true},
		&made); err != nil {
		return err
	}
	t.session = made.SessionID
	t.b.pipe.events(t.event)
	for _, c := range []struct {
		method string
		params map[string]any
	}{
		{"Page.enable", nil}, {"Inspector.enable", nil},
		{"Fetch.enable", map[string]any{"patterns": []any{map[string]any{"urlPattern": "*", "resourceType": "Document",
			"requestStage": "Request"}}}},
		{"Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": scriptBefore}},
	} {
		if err := t.call(ctx, c.method, c.params, nil); err != nil {
			return err
		}
	}
	if err := t.call(ctx, "Page.navigate", map[string]any{"url": t.page.URL}, &made); err != nil {
		return err
	}
	if made.ErrorText != "" {
		return fmt.Errorf("%w: the page does not load: %.100s", ErrCrashed, made.ErrorText)
	}
	if err := t.behave(ctx); err != nil {
		return err
	}
	if err := t.look(ctx); err != nil {
		return err
	}
	return t.b.pipe.call(ctx, "", "Target.disposeBrowserContext",
		map[string]any{"browserContextId": made.BrowserContextID}, nil)
}

// scriptBefore runs in each document before its own scripts: what cannot be recorded is not there.
const scriptBefore = `(() => { try { delete Navigator.prototype.serviceWorker; } catch (e) {} })()`

// call tells Chromium to do something for this tab.
func (t *tab) call(ctx context.Context, method string, params map[string]any, result any) error {
	ctx, cancel := context.WithTimeout(ctx, min(callTime, max(t.page.Time, leastCallTime)))
	defer cancel()
	var given any
	if params != nil {
		given = params
	}
	err := t.b.pipe.call(ctx, t.session, method, given, result)
	if err != nil && t.has(func() bool { return t.crashed }) {
		return fmt.Errorf("%w: the page", ErrCrashed)
	}
	return err
}

func (t *tab) has(what func() bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return what()
}

// event handles what Chromium reports by itself.
func (t *tab) event(m message) {
	switch m.Method {
	case "Target.targetCreated":
		var made struct {
			TargetInfo struct{ TargetID, Type, OpenerID string }
		}
		if json.Unmarshal(m.Params, &made) == nil && made.TargetInfo.Type == "page" &&
			made.TargetInfo.TargetID != t.target {
			t.b.pipe.tell("", "Target.closeTarget", map[string]any{"targetId": made.TargetInfo.TargetID})
		}
		return
	case "Target.targetCrashed":
		t.fell(m)
		return
	}
	if m.Session != t.session {
		return
	}
	switch m.Method {
	case "Page.javascriptDialogOpening":
		t.b.pipe.tell(t.session, "Page.handleJavaScriptDialog", map[string]any{"accept": false})
	case "Page.loadEventFired":
		t.mu.Lock()
		t.loaded = true
		t.mu.Unlock()
	case "Page.frameNavigated":
		t.replaced(m)
	case "Inspector.targetCrashed":
		t.crash()
	case "Fetch.requestPaused":
		t.paused(m)
	}
}

func (t *tab) fell(m message) {
	var which struct{ TargetID string }
	if json.Unmarshal(m.Params, &which) == nil && which.TargetID == t.target {
		t.crash()
	}
}

// crash notes that the page's process died; nothing would ever answer.
func (t *tab) crash() {
	t.mu.Lock()
	t.crashed = true
	t.mu.Unlock()
	t.b.process.kill()
}

// replaced notes that another document is the page's: it reloaded itself.
func (t *tab) replaced(m message) {
	var to struct {
		Frame struct{ ID, ParentID string }
	}
	if json.Unmarshal(m.Params, &to) != nil || to.Frame.ID != t.target || to.Frame.ParentID != "" {
		return
	}
	t.mu.Lock()
	t.loaded = false
	t.mu.Unlock()
}

// paused decides on a document that is asked for: frames are let through, and so is the page itself, which may reload
// itself a few times; where a script leads the browser away from it is noted, not followed.
func (t *tab) paused(m message) {
	var asked struct {
		RequestID, FrameID string
		Request            struct{ URL, Method string }
	}
	if json.Unmarshal(m.Params, &asked) != nil {
		return
	}
	t.mu.Lock()
	top := asked.FrameID == t.target
	let := !top || !t.started
	if top {
		if !t.started {
			t.load.document(asked.Request.URL)
		} else if asked.Request.Method == "GET" && t.load.is(asked.Request.URL) && t.reloads < maxReloads {
			t.reloads++
			let = true
		}
		t.started = true
	}
	t.aborted = t.aborted || !let
	if !let && t.left == "" && asked.Request.URL != t.page.URL {
		t.left = asked.Request.URL
	}
	t.mu.Unlock()
	if let {
		t.b.pipe.tell(t.session, "Fetch.continueRequest", map[string]any{"requestId": asked.RequestID})
		return
	}
	t.b.pipe.tell(t.session, "Fetch.failRequest", map[string]any{"requestId": asked.RequestID,
		"errorReason": "Aborted"})
}

// behave lets the page load, scrolls through it and waits until it is quiet.
func (t *tab) behave(ctx context.Context) error {
	quiet := func(long time.Duration) func() bool {
		return func() bool {
			return t.has(func() bool { return t.loaded || t.aborted }) && t.load.quiet(time.Now()) >= long
		}
	}
	if err := t.await(ctx, quiet(min(beforeScroll, t.page.Quiet))); err != nil {
		return err
	}
	if err := t.newWorld(ctx); err != nil {
		return err
	}
	for range maxScrolls {
		if t.out.TimedOut {
			break
		}
		var end bool
		if err := t.run(ctx, scriptScroll, &end); err != nil {
			return err
		}
		settled := func() bool { return t.load.quiet(time.Now()) >= min(scrollSettle, t.page.Quiet) }
		asked := t.load.total()
		if err := t.await(ctx, after(scrollSettle, settled)); err != nil {
			return err
		}
		if end && t.load.total() == asked {
			break
		}
	}
	if err := t.await(ctx, quiet(t.page.Quiet)); err != nil {
		return err
	}
	return t.run(ctx, scriptTop, nil)
}

// after holds once so much time has passed, and what must then hold.
func after(pause time.Duration, then func() bool) func() bool {
	from := time.Now()
	return func() bool { return time.Since(from) >= pause && then() }
}

// await waits until something holds, or the page's time is over, or it is no more.
func (t *tab) await(ctx context.Context, until func() bool) error {
	const step = 20 * time.Millisecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	at := time.Now()
	for !until() {
		if t.has(func() bool { return t.crashed }) {
			return fmt.Errorf("%w: the page", ErrCrashed)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.b.pipe.done:
			return fmt.Errorf("%w: the browser", ErrCrashed)
		case <-tick.C:
		}
		now := time.Now()
		if !t.load.held() {
			t.spent += now.Sub(at)
		}
		if at = now; t.spent >= t.page.Time {
			t.out.TimedOut = true
			return nil
		}
	}
	return nil
}

// newWorld makes the place where our scripts run.
func (t *tab) newWorld(ctx context.Context) error {
	var made struct{ ExecutionContextID int }
	err := t.call(ctx, "Page.createIsolatedWorld", map[string]any{"frameId": t.target, "worldName": "holdfast"}, &made)
	t.world = made.ExecutionContextID
	return err
}

// run runs a script of ours in the page.
func (t *tab) run(ctx context.Context, script string, result any) error {
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct{ Text string }
	}
	err := t.call(ctx, "Runtime.evaluate", map[string]any{"expression": script, "contextId": t.world,
		"returnByValue": true}, &answer)
	if errors.Is(err, errRefused) { // the document was replaced, by itself
		if err = t.newWorld(ctx); err == nil {
			err = t.call(ctx, "Runtime.evaluate", map[string]any{"expression": script, "contextId": t.world,
				"returnByValue": true}, &answer)
		}
	}
	switch {
	case err != nil:
		return err
	case answer.ExceptionDetails != nil:
		return fmt.Errorf("%w: script: %.100s", errRefused, answer.ExceptionDetails.Text)
	case result == nil || len(answer.Result.Value) == 0:
		return nil
	}
	return json.Unmarshal(answer.Result.Value, result)
}

// look collects what is to be kept of the page.
func (t *tab) look(ctx context.Context) error {
	var found struct {
		Links       []Link
		Text, Title string
	}
	if err := t.run(ctx, scriptLook, &found); err != nil {
		return err
	}
	t.out.Links, t.out.Text, t.out.Title = found.Links, found.Text, found.Title
	t.mu.Lock()
	t.out.Left = t.left
	t.mu.Unlock()
	if !t.page.Screenshot {
		return nil
	}
	var m struct {
		CSSContentSize struct{ Width, Height float64 }
	}
	if err := t.call(ctx, "Page.getLayoutMetrics", nil, &m); err != nil {
		return err
	}
	height := math.Min(math.Max(m.CSSContentSize.Height, windowHeight), maxPicture)
	var picture struct{ Data []byte }
	err := t.call(ctx, "Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true,
		"optimizeForSpeed": false,
		"clip":             map[string]any{"x": 0, "y": 0, "width": windowWidth, "height": height, "scale": 1}},
		&picture)
	if errors.Is(err, errRefused) {
		return nil // as of a page that has no size
	}
	t.out.Screenshot = picture.Data
	return err
}
