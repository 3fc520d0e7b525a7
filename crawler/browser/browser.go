// Package browser loads pages in Chromium, for those whose content comes by script.
//
// A Browser is one Chromium in a process group of its own, spoken to over a pipe. It reaches nothing but a proxy of
// this process, and that asks a Web, the caller's, for all that a page wants: name look-ups, rules, politeness and
// records are the caller's business (doc/browser.md). Pages are hostile: a page that hangs, crashes or takes too much
// memory costs the Browser it is loaded in, and no more than its time.
package browser

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// ErrUnavailable reports that there is no Chromium on this machine, or that it cannot be run safely.
var ErrUnavailable = errors.New("no browser")

// ErrMemory reports that a browser took more memory than it may.
var ErrMemory = errors.New("browser took too much memory")

// ErrCrashed reports that a page or the whole browser crashed.
var ErrCrashed = errors.New("browser crashed")

// ErrHung reports that a browser did not answer in time.
var ErrHung = errors.New("browser does not answer")

// names are what Chromium is called, in the order it is looked for.
var names = [...]string{"chromium", "chromium-browser", "google-chrome"}

// Available finds the browser to use. The error, ErrUnavailable, says what is missing.
func Available() (program string, err error) {
	for _, name := range names {
		if program, err := exec.LookPath(name); err == nil {
			return program, nil
		}
	}
	return "", fmt.Errorf("%w: none of %s is in PATH; install Debian's package chromium", ErrUnavailable,
		strings.Join(names[:], ", "))
}

// Config says how to run a Browser. Dir must be given.
type Config struct {
	Dir       string // profiles are made in it, and removed
	Program   string // default: what Available finds
	UserAgent string // default: Chromium's own
	MaxMemory int64  // bytes that its processes may take together; 0: no limit
	Log       *slog.Logger
}

// Browser is a running Chromium. It loads one page at a time.
type Browser struct {
	cfg     Config
	proxy   *proxy
	process *process
	pipe    *pipe
	pages   int
}

// startTime is how long a browser may take to start.
const startTime = 60 * time.Second

// Start starts a browser, which lives until Close, or until this process ends, however that does.
func Start(ctx context.Context, cfg Config) (b *Browser, err error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Program == "" {
		if cfg.Program, err = Available(); err != nil {
			return nil, err
		}
	}
	b = &Browser{cfg: cfg}
	if b.proxy, err = newProxy(cfg.Log); err != nil {
		return nil, fmt.Errorf("start a browser: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	err = b.launch(ctx, true)
	if errors.Is(err, errSandbox) && os.Getuid() == 0 {
		cfg.Log.Warn("no sandbox for the browser: the kernel refuses user namespaces; the browser still runs as " +
			"another user")
		err = b.launch(ctx, false)
	}
	if err != nil {
		b.proxy.close()
		return nil, fmt.Errorf("start a browser: %w", err)
	}
	return b, nil
}

// launch starts the process and speaks to it.
func (b *Browser) launch(ctx context.Context, sandbox bool) error {
	p, err := startProcess(b.cfg, b.arguments(sandbox))
	if err != nil {
		return err
	}
	b.process, b.pipe = p, newPipe(p.to, p.from, p.kill)
	stop := context.AfterFunc(ctx, p.kill)
	defer stop()
	// No window may be opened by a page, nothing is downloaded.
	err = b.pipe.call(ctx, "", "Target.setDiscoverTargets", map[string]any{"discover": true}, nil)
	if err == nil {
		err = b.pipe.call(ctx, "", "Browser.setDownloadBehavior", map[string]any{"behavior": "deny"}, nil)
	}
	if err != nil {
		p.end()
		b.pipe.close()
		if slices.ContainsFunc(refusals[:], p.said) {
			return fmt.Errorf("%w: %w", ErrUnavailable, errSandbox)
		}
		return fmt.Errorf("%w; its last output: %s", err, p.lastWords())
	}
	return nil
}

// errSandbox reports that the kernel does not let Chromium make its sandbox.
var errSandbox = errors.New("no sandbox for Chromium here: the kernel refuses user namespaces; run the crawl as " +
	"root, so that Chromium runs as another user")

// refusals are what Chromium says then: by itself, and with Debian's package chromium-sandbox, as in a container.
var refusals = [...]string{"No usable sandbox", "Failed to move to new namespace"}

// Size of the window that pages are loaded in.
const (
	windowWidth  = 1280
	windowHeight = 1024
)

// nowhere is the proxy for Chromium's own requests, such as for its news; nothing listens there. Pages have another
// proxy.
const nowhere = "127.0.0.1:1"

// arguments are Chromium's. It has no way to the network but the proxy, not even for names, and asks for nothing by
// itself.
func (b *Browser) arguments(sandbox bool) []string {
	args := []string{
		"--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check",
		"--no-startup-window",
		"--proxy-server=http://" + nowhere, "--proxy-bypass-list=<-loopback>",
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
		"--ignore-certificate-errors-spki-list=" + b.proxy.ca.fingerprint,
		"--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-default-apps", "--disable-extensions", "--disable-client-side-phishing-detection",
		"--disable-domain-reliability", "--no-pings", "--disable-breakpad", "--disable-crash-reporter",
		"--metrics-recording-only", "--no-service-autorun", "--password-store=basic", "--use-mock-keychain",
		"--disable-gpu", "--disable-dev-shm-usage", "--mute-audio", "--hide-scrollbars", "--disable-notifications",
		"--deny-permission-prompts", "--block-new-web-contents", "--webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--disable-site-isolation-trials",
		"--disable-background-timer-throttling", "--disable-renderer-backgrounding",
		"--disable-backgrounding-occluded-windows",
		"--disable-features=IsolateOrigins,site-per-process,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable," +
			"Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,AutofillServerCommunication," +
			"InterestFeedContentSuggestions,CertificateTransparencyComponentUpdater," +
			"PrivateNetworkAccessPermissionPrompt,LocalNetworkAccessChecks,BackForwardCache,Prerender2," +
			"ServiceWorkerAutoPreload",
		"--js-flags=--max-old-space-size=512",
		"--lang=en", fmt.Sprintf("--window-size=%d,%d", windowWidth, windowHeight),
	}
	if b.cfg.UserAgent != "" {
		args = append(args, "--user-agent="+b.cfg.UserAgent)
	}
	if !sandbox {
		args = append(args, "--no-sandbox")
	}
	return args
}

// Pages counts the pages that were loaded.
func (b *Browser) Pages() int { return b.pages }

// Pid is the browser's process, which leads its group.
func (b *Browser) Pid() int { return b.process.pid() }

// Memory returns how much memory the browser's processes use now, without what is backed by files.
func (b *Browser) Memory() int64 { return b.process.memory() }

// Close ends the browser and all its processes, and removes its files.
func (b *Browser) Close() {
	b.process.end()
	b.pipe.close()
	b.proxy.close()
}
