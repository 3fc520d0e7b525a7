package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// View is what a person has in front of her.
type View struct {
	Width    int    // CSS pixels; below 700 it is a telephone
	Dark     bool   // she prefers dark colours
	NoScript bool   // she has switched scripts off
	Language string // that her browser asks for; may be empty
}

// Tab is a window with cookies of its own.
type Tab struct {
	b       *Browser
	session string
	origin  string
	view    View

	mu        sync.Mutex
	changed   chan struct{} // something was heard
	came      int           // how many documents came
	loader    string        // of the last one
	loaded    map[string]bool
	complaint []string
}

// Open opens a tab that may load what is at the origin, and nothing else.
func (b *Browser) Open(t testing.TB, origin string, view View) *Tab {
	t.Helper()
	var context struct{ BrowserContextID string }
	b.call(t, "", "Target.createBrowserContext", nil, &context)
	var target struct{ TargetID string }
	b.call(t, "", "Target.createTarget", map[string]any{"url": "about:blank",
		"browserContextId": context.BrowserContextID}, &target)
	var attached struct{ SessionID string }
	b.call(t, "", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	tab := &Tab{b: b, session: attached.SessionID, origin: origin, changed: make(chan struct{}, 1),
		loaded: map[string]bool{}}
	b.mu.Lock()
	b.tabs[tab.session] = tab
	b.mu.Unlock()
	t.Cleanup(func() {
		b.mu.Lock()
		delete(b.tabs, tab.session)
		b.mu.Unlock()
		_ = b.try("", "Target.disposeBrowserContext", map[string]any{"browserContextId": context.BrowserContextID}, nil)
	})
	for _, domain := range []string{"Page", "Runtime", "Network", "Log", "Audits"} {
		tab.call(t, domain+".enable", nil, nil)
	}
	tab.call(t, "Page.setLifecycleEventsEnabled", map[string]any{"enabled": true}, nil)
	tab.call(t, "Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil)
	tab.Look(t, view)
	return tab
}

// Look changes what the person has in front of her.
func (tab *Tab) Look(t testing.TB, view View) {
	t.Helper()
	tab.view = view
	height, scheme := 900, "light"
	if view.Width < 700 {
		height = 844
	}
	if view.Dark {
		scheme = "dark"
	}
	tab.call(t, "Emulation.setDeviceMetricsOverride", map[string]any{"width": view.Width, "height": height,
		"deviceScaleFactor": 1, "mobile": view.Width < 700}, nil)
	tab.call(t, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	tab.call(t, "Emulation.setScriptExecutionDisabled", map[string]any{"value": view.NoScript}, nil)
	if view.Language != "" {
		tab.call(t, "Network.setExtraHTTPHeaders",
			map[string]any{"headers": map[string]string{"Accept-Language": view.Language}}, nil)
	}
}

func (tab *Tab) call(t testing.TB, method string, params, result any) {
	t.Helper()
	tab.b.call(t, tab.session, method, params, result)
}

// heard takes an event.
func (tab *Tab) heard(m message) {
	var e struct {
		Name, LoaderID, Type, Message string
		Frame                         struct{ ID, ParentID, LoaderID string }
		Request                       struct{ URL string }
		Entry                         struct{ Level, Text, URL string }
		ExceptionDetails              json.RawMessage
		Issue                         json.RawMessage
		Args                          json.RawMessage
	}
	if json.Unmarshal(m.Params, &e) != nil {
		return
	}
	tab.mu.Lock()
	defer tab.mu.Unlock()
	switch m.Method {
	case "Page.frameNavigated":
		if e.Frame.ParentID == "" {
			tab.came, tab.loader = tab.came+1, e.Frame.LoaderID
			if e.Type == "BackForwardCacheRestore" {
				tab.loaded[tab.loader] = true
			}
		}
	case "Page.lifecycleEvent":
		if e.Name == "load" {
			tab.loaded[e.LoaderID] = true
		}
	case "Network.requestWillBeSent":
		if !strings.HasPrefix(e.Request.URL, tab.origin+"/") {
			tab.complain("request to %s", e.Request.URL)
		}
	case "Log.entryAdded":
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			tab.complain("console: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case "Runtime.consoleAPICalled":
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			tab.complain("console: %s", e.Args)
		}
	case "Runtime.exceptionThrown":
		tab.complain("exception: %s", e.ExceptionDetails)
	case "Page.javascriptDialogOpening":
		tab.complain("dialog: %s", e.Message)
		go func() { // the page waits for it; who reads must not call
			_ = tab.b.try(tab.session, "Page.handleJavaScriptDialog", map[string]any{"accept": true}, nil)
		}()
	case "Audits.issueAdded":
		if strings.Contains(string(e.Issue), "ContentSecurityPolicy") {
			tab.complain("policy: %s", e.Issue)
		}
	}
	select {
	case tab.changed <- struct{}{}:
	default:
	}
}

func (tab *Tab) complain(format string, args ...any) {
	tab.complaint = append(tab.complaint, fmt.Sprintf(format, args...))
}

// Complaints returns what the browser complained of since the last time: errors and warnings on the console, violated
// policies, dialogs, and requests to another origin than the tab's.
func (tab *Tab) Complaints() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	all := tab.complaint
	tab.complaint = nil
	return all
}

// Leads does what leads to another document, and waits until that is loaded.
func (tab *Tab) Leads(t testing.TB, act func()) {
	t.Helper()
	tab.mu.Lock()
	before := tab.came
	tab.mu.Unlock()
	act()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	for {
		tab.mu.Lock()
		there := tab.came > before && tab.loaded[tab.loader]
		tab.mu.Unlock()
		if there {
			return
		}
		select {
		case <-tab.changed:
		case <-ctx.Done():
			t.Fatalf("%s leads nowhere in %s; complaints: %q", tab.URL(t), Patience, tab.Complaints())
		}
	}
}

// Go loads the page of a path.
func (tab *Tab) Go(t testing.TB, path string) {
	t.Helper()
	tab.Leads(t, func() {
		var got struct{ ErrorText string }
		tab.call(t, "Page.navigate", map[string]any{"url": tab.origin + path}, &got)
		if got.ErrorText != "" {
			t.Fatalf("%s: %s", path, got.ErrorText)
		}
	})
}

// Back goes back by n documents, as the button does.
func (tab *Tab) Back(t testing.TB, n int) {
	t.Helper()
	var history struct {
		CurrentIndex int
		Entries      []struct{ ID int }
	}
	tab.call(t, "Page.getNavigationHistory", nil, &history)
	if history.CurrentIndex < n {
		t.Fatalf("there are %d documents to go back to, not %d", history.CurrentIndex, n)
	}
	tab.Leads(t, func() {
		entry := history.Entries[history.CurrentIndex-n].ID
		tab.call(t, "Page.navigateToHistoryEntry", map[string]any{"entryId": entry}, nil)
	})
}

// Eval evaluates an expression in the page, also where scripts are switched off, and waits for a promise.
func (tab *Tab) Eval(t testing.TB, expression string, result any) {
	t.Helper()
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	tab.call(t, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true,
		"awaitPromise": true}, &got)
	if got.ExceptionDetails != nil {
		t.Fatalf("%.200s: %s", expression, got.ExceptionDetails)
	}
	if result != nil {
		if err := json.Unmarshal(got.Result.Value, result); err != nil {
			t.Fatalf("%.200s: %v", expression, err)
		}
	}
}

// Text returns what the expression's value is as text.
func (tab *Tab) Text(t testing.TB, expression string) (text string) {
	t.Helper()
	tab.Eval(t, "String("+expression+")", &text)
	return text
}

// Until waits until the page says the text, whichever page it is by then: pages may lead on by themselves meanwhile.
func (tab *Tab) Until(t testing.TB, text string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	var got struct{ Result struct{ Value string } }
	for {
		err := tab.b.try(tab.session, "Runtime.evaluate", map[string]any{"returnByValue": true,
			"expression": `location.href + "\n" + (document.body ? document.body.innerText : "")`}, &got)
		if err == nil && strings.Contains(got.Result.Value, text) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("no page says %q in %s: %s %v", text, Patience, got.Result.Value, err)
		}
	}
}

// URL is the address of the document.
func (tab *Tab) URL(t testing.TB) string {
	t.Helper()
	return tab.Text(t, "location.href")
}

// Click clicks in the middle of the first element that the selector finds.
func (tab *Tab) Click(t testing.TB, selector string) {
	t.Helper()
	var at []float64
	quoted, err := json.Marshal(selector)
	if err != nil {
		t.Fatal(err)
	}
	tab.Eval(t, fmt.Sprintf(`(() => {
		const e = document.querySelector(%s);
		if (!e) return [];
		e.scrollIntoView({block: "center"});
		const r = e.getClientRects()[0];
		return [r.x + r.width / 2, r.y + r.height / 2];
	})()`, quoted), &at)
	if len(at) == 0 {
		t.Fatalf("%s has no %s", tab.URL(t), selector)
	}
	for _, what := range []string{"mousePressed", "mouseReleased"} {
		tab.call(t, "Input.dispatchMouseEvent", map[string]any{"type": what, "x": at[0], "y": at[1], "button": "left",
			"clickCount": 1}, nil)
	}
}

// Press presses a key: Tab or Enter.
func (tab *Tab) Press(t testing.TB, key string) {
	t.Helper()
	code, text := 9, ""
	if key == "Enter" {
		code, text = 13, "\r"
	}
	for _, what := range []string{"keyDown", "keyUp"} {
		event := map[string]any{"type": what, "key": key, "code": key, "windowsVirtualKeyCode": code}
		if text != "" && what == "keyDown" {
			event["text"] = text
		}
		tab.call(t, "Input.dispatchKeyEvent", event, nil)
	}
}

// Type types a text where the focus is.
func (tab *Tab) Type(t testing.TB, text string) {
	t.Helper()
	tab.call(t, "Input.insertText", map[string]any{"text": text}, nil)
}

// Reach goes by the key Tab to the first element that the selector finds, and fails if the focus is not to be seen on
// the way.
func (tab *Tab) Reach(t testing.TB, selector string) {
	t.Helper()
	quoted, err := json.Marshal(selector)
	if err != nil {
		t.Fatal(err)
	}
	var passed []string
	for range 300 {
		tab.Press(t, "Tab")
		var at struct {
			There, Visible bool
			Name           string
		}
		tab.Eval(t, fmt.Sprintf(`(() => {
			const e = document.activeElement, r = e.getClientRects()[0], s = getComputedStyle(e);
			const top = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
			return {there: e.matches(%s), name: e.outerHTML.slice(0, 100), visible: s.outlineStyle !== "none" &&
				parseFloat(s.outlineWidth) >= 2 && (e.matches(".scroll, pre") || e === top || e.contains(top))};
		})()`, quoted), &at)
		if passed = append(passed, at.Name); !at.Visible && !strings.HasPrefix(at.Name, "<body") {
			t.Errorf("%s: the focus is not to be seen on %s", tab.URL(t), at.Name)
		}
		if at.There {
			return
		}
	}
	t.Fatalf("%s: the keyboard does not reach %s, but %q", tab.URL(t), selector, slices.Compact(passed))
}

// Cookie gives the tab a cookie for its origin.
func (tab *Tab) Cookie(t testing.TB, c http.Cookie) {
	t.Helper()
	tab.call(t, "Network.setCookie", map[string]any{"url": tab.origin + "/", "name": c.Name, "value": c.Value,
		"httpOnly": true, "sameSite": "Strict"}, nil)
}

// Picture keeps a picture of the whole page in a folder, which may be empty for none.
func (tab *Tab) Picture(t testing.TB, folder, name string) {
	t.Helper()
	if folder == "" {
		return
	}
	var picture struct{ Data []byte }
	tab.call(t, "Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &picture)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), picture.Data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Forget forgets the tab's cookies.
func (tab *Tab) Forget(t testing.TB) {
	t.Helper()
	tab.call(t, "Network.clearBrowserCookies", nil, nil)
}
