package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"holdfast/client"
	"holdfast/crawler"
	"holdfast/crawler/report"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// A crawl without a cluster accepts orders on a socket in its folder, from everybody who may write there.

// controlSocket is where, in the crawl's folder.
const controlSocket = "state/control.sock"

// socketPath is a name for the socket that is short enough for the operating system; done ends its validity.
func socketPath(dir string) (path string, done func(), err error) {
	path = filepath.Join(dir, controlSocket)
	if len(path) < 100 {
		return path, func() {}, nil
	}
	f, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), filepath.Base(path)), func() { _ = f.Close() }, nil
}

// obeyer carries out orders.
type obeyer interface {
	Obey(ctx context.Context, o act.Order) (harvest.Reply, error)
}

// serveControl takes orders for a crawl until ctx ends.
func serveControl(ctx context.Context, dir string, crawl obeyer) (stop func(), err error) {
	path, done, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(filepath.Join(dir, controlSocket)); err != nil && !errors.Is(err, os.ErrNotExist) {
		done()
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		done()
		return nil, fmt.Errorf("listen on %s: %w", controlSocket, err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx },
		Handler:     http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { control(w, r, crawl) })}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(listener) }() // ends with Close
	return func() {
		_ = server.Close()
		<-ended
		done()
	}, nil
}

// maxOrder bounds an order's text: seeds may be many.
const maxOrder = 64 << 20

// control answers one order.
func control(w http.ResponseWriter, r *http.Request, crawl obeyer) {
	var o act.Order
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder)).Decode(&o)
	if err == nil {
		err = act.Check(o.Act)
	}
	var reply harvest.Reply
	if err == nil {
		reply, err = crawl.Obey(r.Context(), o)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(reply) // who asked went away
}

// notRunning says that no crawl of the folder answers, and what to do instead.
func notRunning(dir string, err error) error {
	if _, failed := os.Stat(filepath.Join(dir, "logs", report.CrawlLog)); failed != nil {
		return fmt.Errorf("%q is neither a job number nor the --out folder of a crawl", dir)
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("the crawl in %s can be controlled only by the user who runs it: %w", dir, err)
	}
	return fmt.Errorf("no crawl is running in %s; job show, log, search, events, report and explain read what it "+
		"left, and holdfast crawl --out %s continues it", dir, dir)
}

// order gives an order to a crawl: a job's number in the cluster, or the folder of a crawl on this machine. If that
// crawl is not running, orders that only read are answered from the folder.
func (a *app) order(target string, given act.Act) (reply harvest.Reply, err error) {
	o := act.Order{Act: given}
	if err := act.Check(given); err != nil {
		return reply, exitError{exitUsage, err}
	}
	if id, err := strconv.ParseUint(target, 10, 64); err == nil {
		err = a.remote(func(ctx context.Context, archive *client.Client) (err error) {
			reply, err = archive.Jobs().Act(ctx, id, given)
			return err
		})
		return reply, err
	}
	path, done, err := socketPath(target)
	if err != nil {
		return reply, notRunning(target, err)
	}
	defer done()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
	socket := &http.Client{Transport: &http.Transport{DialContext: dial}}
	defer socket.CloseIdleConnections()
	text, err := json.Marshal(o)
	if err != nil {
		return reply, fmt.Errorf("encode the order: %w", err)
	}
	request, err := http.NewRequestWithContext(a.ctx, http.MethodPost, "http://crawl/orders", bytes.NewReader(text))
	if err != nil {
		return reply, fmt.Errorf("give the order: %w", err)
	}
	answer, err := socket.Do(request)
	if err != nil && o.Kept() {
		if reply, err := crawler.Past(a.ctx, target, o); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return reply, err
		}
	}
	if err != nil {
		return reply, notRunning(target, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		why, err := io.ReadAll(io.LimitReader(answer.Body, 1<<16))
		if err != nil {
			return reply, fmt.Errorf("crawl in %s: %w", target, err)
		}
		return reply, errors.New(string(bytes.TrimSpace(why)))
	}
	if err := json.NewDecoder(answer.Body).Decode(&reply); err != nil {
		return reply, fmt.Errorf("read the answer of the crawl in %s: %w", target, err)
	}
	return reply, nil
}
