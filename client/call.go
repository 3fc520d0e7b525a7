package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"

	"holdfast/api/wire"
)

// maxProblem bounds the text of a problem.
const maxProblem = 1 << 20

// request makes a request with the token; segments of the path are escaped.
func (c *Client) request(ctx context.Context, method string, body io.Reader, query url.Values,
	segments ...string) (*http.Request, error) {
	u := c.base.JoinPath("api", "v1")
	for _, s := range segments {
		u = u.JoinPath(url.PathEscape(s))
	}
	u.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", wire.ErrInvalid, err)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	condition(r)
	return r, nil
}

// do sends the request; an answer that is no success is its *wire.Error.
func (c *Client) do(r *http.Request) (*http.Response, error) {
	answer, err := c.http.Do(r)
	if err != nil {
		if r.Context().Err() != nil {
			return nil, fmt.Errorf("ask %s: %w", c.base.Host, context.Cause(r.Context()))
		}
		return nil, fmt.Errorf("ask %s: %w: %w", c.base.Host, wire.ErrUnavailable, err)
	}
	if answer.StatusCode < 300 {
		if answer.Request == nil { // of a transport that does not say whose answer it is
			answer.Request = r
		}
		note(answer)
		return answer, nil
	}
	defer answer.Body.Close()
	return nil, readProblem(answer)
}

// readProblem reads the problem of an answer, or makes one of its status.
func readProblem(answer *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxProblem))
	var p wire.Problem
	if err != nil || json.Unmarshal(text, &p) != nil || p.Status == 0 {
		return &wire.Error{Status: answer.StatusCode, Code: wire.CodeInternal,
			Detail: "the server answered " + answer.Status}
	}
	return p.AsError()
}

// call sends in as JSON, unless nil, and reads the answer into out, unless nil.
func (c *Client) call(ctx context.Context, method string, in, out any, query url.Values, segments ...string) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("%w: %w", wire.ErrInvalid, err)
		}
		body = bytes.NewReader(text)
	}
	r, err := c.request(ctx, method, body, query, segments...)
	if err != nil {
		return err
	}
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if out == nil || answer.StatusCode == http.StatusNoContent {
		return nil
	}
	if err := json.NewDecoder(answer.Body).Decode(out); err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.base.Host, err)
	}
	return nil
}

// get asks for something.
func get[T any](ctx context.Context, c *Client, segments ...string) (T, error) {
	return send[T](ctx, c, http.MethodGet, nil, segments...)
}

// post sends a request with a body, or with none when in is nil.
func post[T any](ctx context.Context, c *Client, in any, segments ...string) (T, error) {
	return send[T](ctx, c, http.MethodPost, in, segments...)
}

// send sends a request and returns its answer.
func send[T any](ctx context.Context, c *Client, method string, in any, segments ...string) (T, error) {
	var out T
	err := c.call(ctx, method, in, &out, nil, segments...)
	return out, err
}

// asked is a query with what is not empty.
func asked(given map[string]string) url.Values {
	query := url.Values{}
	for name, value := range given {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// between puts a time from one moment to another into a query; a zero one is not given.
func between(query url.Values, from, until time.Time) {
	for name, at := range map[string]time.Time{"from": from, "until": until} {
		if !at.IsZero() {
			query.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
}

// list asks for a list that comes in one page.
func list[T any](ctx context.Context, c *Client, query url.Values, segments ...string) ([]T, error) {
	var page wire.Page[T]
	err := c.call(ctx, http.MethodGet, nil, &page, query, segments...)
	return page.Items, err
}

// all yields every item of a paged list, page by page.
func all[T any](ctx context.Context, c *Client, query url.Values, segments ...string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		q := url.Values{}
		for name, values := range query {
			q[name] = values
		}
		for {
			var page wire.Page[T]
			if err := c.call(ctx, http.MethodGet, nil, &page, q, segments...); err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			q.Set("after", page.Next)
		}
	}
}
