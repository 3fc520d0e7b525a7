package cli

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"holdfast/client"
	"holdfast/node/config"
)

// client returns a client of the node that the flags name: --server with --token, or --config with --node, whose
// address is in the cluster.toml and whose local token is in its data folder.
func (a *app) client() (*client.Client, error) {
	token, err := readText(a.Token)
	if err != nil {
		return nil, err
	}
	token = strings.TrimSpace(token)
	server, named := a.Server, "--server "+a.Server
	if server == "" {
		if a.Config == "" {
			return nil, usage("which node? give --server URL and --token TEXT, or --config FILE and --node NAME")
		}
		cfg, err := a.nodeConfig()
		if err != nil {
			return nil, err
		}
		if server, err = serverOf(cfg); err != nil {
			return nil, err
		}
		if token == "" {
			if token, err = localToken(cfg); err != nil {
				return nil, err
			}
		}
		named = fmt.Sprintf("%s listens on another machine, %s", cfg.Name, cfg.Listen.API)
	}
	c, err := client.New(server, token)
	if err == nil && !a.Insecure && client.Exposed(c) && (a.Server != "" || !a.ours(hostOf(c))) {
		return nil, usage("%s: plain HTTP would send the access token in clear over the network. "+
			"Use --server with https://, or give --insecure too if nobody else can listen there", named)
	}
	if err == nil && a.CA != "" {
		err = trustOnly(c, a.CA)
	}
	if err != nil {
		return nil, exitError{exitUsage, err}
	}
	return c, nil
}

// hostOf is the host that a client asks.
func hostOf(c *client.Client) string {
	u, err := url.Parse(c.Base())
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// ours reports whether all addresses of the host belong to this machine, so that what is sent to them stays on it.
func (a *app) ours(host string) bool {
	addresses, err := net.DefaultResolver.LookupNetIP(a.ctx, "ip", host)
	if err != nil {
		return false
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(addresses, func(ip netip.Addr) bool {
		return !slices.ContainsFunc(own, func(o net.Addr) bool {
			prefix, err := netip.ParsePrefix(o.String())
			return err == nil && prefix.Addr() == ip.Unmap()
		})
	})
}

// trustOnly makes the client trust the certificates of a PEM file alone.
func trustOnly(c *client.Client, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("--ca: %w", err)
	}
	if err := c.TrustOnly(text); err != nil {
		return fmt.Errorf("--ca %s: %w", path, err)
	}
	return nil
}

// nodeConfig reads the cluster.toml and returns the settings of the node. With one node in the file, --node may be left
// out.
func (a *app) nodeConfig() (config.Config, error) {
	if a.Config == "" {
		return config.Config{}, usage("which node? give --config cluster.toml and --node NAME")
	}
	file, err := config.Load(a.Config)
	if err != nil {
		return config.Config{}, exitError{exitConfig, err}
	}
	name := a.Node
	if name == "" {
		names := file.NodeNames()
		if len(names) != 1 {
			return config.Config{}, usage("which node? give --node with one of: %s", strings.Join(names, ", "))
		}
		name = names[0]
	}
	cfg, err := file.Node(name)
	if err != nil {
		return config.Config{}, exitError{exitConfig, err}
	}
	return cfg, nil
}

// serverOf is the URL of a node's API as seen from its own machine.
func serverOf(cfg config.Config) (string, error) { return urlOf(cfg.Listen.API) }

// urlOf is the URL of a listening address as seen from its own machine.
func urlOf(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", exitError{exitConfig, fmt.Errorf("address %s: %w", listen, err)}
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port), nil
}

// localToken is the token that a node keeps for its own machine's operator.
func localToken(cfg config.Config) (string, error) {
	text, err := os.ReadFile(cfg.TokenPath())
	if err != nil {
		return "", fmt.Errorf("the local access token of %s: %w; give --token", cfg.Name, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// remote runs an act with a client.
func (a *app) remote(act func(ctx context.Context, c *client.Client) error) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	defer c.Close()
	return act(a.ctx, c)
}

// ask shows the cluster's answer to a question.
func ask[T any](a *app, show func(*app, T) error, question func(context.Context, *client.Client) (T, error)) error {
	return a.remote(func(ctx context.Context, c *client.Client) error {
		answer, err := question(ctx, c)
		if err != nil {
			return err
		}
		return show(a, answer)
	})
}

// showAll shows a list: its items in JSON, a table to people.
func showAll[T any](table func(*app, []T) error) func(*app, []T) error {
	return func(a *app, all []T) error {
		return a.answer(items[T]{all}, func() error { return table(a, all) })
	}
}

// every calls look at once and then again and again until it says that it is done, fails, or the context ends.
func every(ctx context.Context, pause time.Duration, look func() (done bool, err error)) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		done, err := look()
		if done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
