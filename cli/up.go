package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/crawler"
	"holdfast/harvest"
	"holdfast/node"
	"holdfast/node/config"
	"holdfast/node/membership"
)

type upCmd struct {
	crawlFlags
	Data   string   `default:"holdfast-data" help:"The folder for everything. Start with the same folder again to continue with the same archive."`
	Peer   string   `default:"127.0.0.1:7480" help:"UDP address of the peer port."`
	API    string   `name:"api" default:"127.0.0.1:7481" help:"TCP address of the API."`
	Access string   `default:"127.0.0.1:7482" help:"TCP address for browsing the archive."`
	Once   bool     `help:"Exit when the pages are archived, instead of serving them."`
	Seeds  []string `arg:"" optional:"" name:"url" help:"URLs of pages to archive, together with everything on the same hosts that they link to."`
}

func (upCmd) Help() string {
	return "Starts one node with all defaults, which is a cluster by itself in --data, archives the pages, and " +
		"serves them until\nit is interrupted."
}

func (upCmd) exits() []string {
	return []string{"0   interrupted; with --once: the pages are archived",
		"1   failed; with --once, also when the crawl failed or captured nothing"}
}

// upAnswer is what up says when the pages can be browsed.
type upAnswer struct {
	Browse string    `json:"browse"`
	Pages  string    `json:"pages,omitempty"` // a link that signs in, once
	API    string    `json:"api"`
	Token  string    `json:"tokenFile"`
	Job    *wire.Job `json:"job,omitempty"`
}

func (c upCmd) Run(a *app) error {
	request, contact, err := c.request(a)
	if err != nil {
		return err
	}
	data, err := filepath.Abs(c.Data)
	if err != nil {
		return err
	}
	cfg, err := config.Single(data, config.Listen{Peer: c.Peer, API: c.API, Access: c.Access})
	if err != nil {
		return exitError{exitConfig, err}
	}
	keepPrivate()
	if _, err := node.Init(a.ctx, cfg, a.log); err != nil && !errors.Is(err, membership.ErrFounded) {
		return err
	}
	log, err := a.nodeLog(cfg)
	if err != nil {
		return err
	}
	n, err := node.New(cfg, log)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(a.ctx)
	defer stop()
	inner := *a
	inner.ctx = ctx
	return inner.run(n, func() error {
		err := c.archive(&inner, cfg, request, contact)
		if c.Once || err != nil {
			stop()
		}
		return err
	})
}

// request returns what to crawl, nil if nothing, and the operator's contact, if it is known. It is checked, and missing
// values are asked for, before anything is made.
func (c upCmd) request(a *app) (_ *wire.JobRequest, contact string, err error) {
	settings, err := c.settings(attended)
	if err != nil || len(c.Seeds) == 0 {
		return nil, settings.OperatorContact, err
	}
	job := harvest.Job{Name: "up", Seeds: c.Seeds, Settings: settings}
	if err := a.checked(&job); err != nil {
		return nil, "", err
	}
	if err := errors.Join(crawler.Check(job), crawler.Able(job)); err != nil {
		return nil, "", err
	}
	return &wire.JobRequest{Name: job.Name, Seeds: job.Seeds, Settings: &wire.Settings{Settings: job.Settings}},
		job.Settings.OperatorContact, nil
}

// prepare makes the template that harvests need, which a fresh archive does not have, or says how to make it when no
// contact is known. A failure is only reported: pages are archived without the template.
func (c upCmd) prepare(a *app, archive *client.Client, answer upAnswer, contact string) {
	name, there, err := defaultTemplate(a.ctx, archive)
	switch {
	case err != nil || there:
	case contact != "":
		_, err = archive.Templates().Create(a.ctx, wire.TemplateRequest{Name: name, Contact: contact})
		if err == nil && !a.JSON {
			fmt.Fprintf(a.stderr, "Made the template %q, which harvests of this archive use, with the contact %s\n",
				name, contact)
		}
	case !c.Once && !a.JSON:
		fmt.Fprintf(a.stderr, "Harvests need the template %q, and a contact for owners of sites in it. To make it:\n"+
			"holdfast template create %s --contact URL --server %s --token @%s\n", name, name, answer.API, answer.Token)
	}
	if err != nil && a.ctx.Err() == nil {
		fmt.Fprintf(a.stderr, "There is no template for harvests yet: %v\n", err)
	}
}

// fit leaves this command's own defaults out of a request to an archive of a level that does not know them.
func (c upCmd) fit(ctx context.Context, archive *client.Client, request *wire.JobRequest) error {
	now, err := archive.Level(ctx)
	if err != nil {
		return err
	}
	if _, err := request.Settings.Settings.AtLevel(now.Level); err == nil {
		return nil
	}
	request.Settings.Settings, err = c.settings()
	return err
}

// defaultTemplate returns the name of the template that new configurations of domains have, and whether it is there.
func defaultTemplate(ctx context.Context, archive *client.Client) (name string, there bool, err error) {
	settings, err := archive.Domains().Settings(ctx)
	if err != nil {
		return "", false, err
	}
	all, _ := settings.Settings.(map[string]any)
	name, _ = all["default_template"].(string)
	_, err = archive.Templates().Show(ctx, name, 0)
	if errors.Is(err, wire.ErrNotFound) {
		return name, false, nil
	}
	return name, err == nil, err
}

// archive lets the node crawl the request, waits until the files are stored and indexed, and says where to browse.
func (c upCmd) archive(a *app, cfg config.Config, request *wire.JobRequest, contact string) error {
	server, err := serverOf(cfg)
	if err != nil {
		return err
	}
	token, err := localToken(cfg)
	if err != nil {
		return err
	}
	archive, err := client.New(server, token)
	if err != nil {
		return err
	}
	defer archive.Close()
	answer := upAnswer{API: server, Token: cfg.TokenPath()}
	if answer.Browse, err = urlOf(cfg.Listen.Access); err != nil {
		return err
	}
	if !a.JSON {
		fmt.Fprintf(a.stderr, "API at %s, with the access token in %s\n", answer.API, answer.Token)
	}
	if err := decides(a.ctx, archive); err != nil {
		return err
	}
	c.prepare(a, archive, answer, contact)
	if request != nil {
		if err := c.fit(a.ctx, archive, request); err != nil {
			return err
		}
		job, err := archive.Jobs().Create(a.ctx, *request)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stderr, "Archiving into %s; browse what is stored at %s\n", cfg.Data, answer.Browse)
		if job, err = waitJob(a.ctx, a, archive, job.ID); err != nil {
			return err
		}
		answer.Job = &job
		if err := settled(a.ctx, archive, job.ID); err != nil {
			return err
		}
	}
	if !c.Once {
		answer.Pages = signInLink(a, archive)
	}
	if err := a.answer(answer, func() error {
		if j := answer.Job; j != nil && j.State != wire.JobDone {
			fmt.Fprintf(a.stdout, "%s: %s\n", broughtIn(*j), j.Reason)
		} else if j != nil {
			fmt.Fprintf(a.stdout, "Archived %d documents, %s (%s).\n", j.Stats.Objects, size(j.Stats.Bytes),
				j.Stats.StopReason)
		}
		_, err := fmt.Fprintf(a.stdout, "Browse: %s/\nAPI:    %s (token in %s)\n", answer.Browse, answer.API,
			answer.Token)
		if err == nil && answer.Pages != "" {
			_, err = fmt.Fprintf(a.stdout, "Pages:  %s\n        (signs you in once, within ten minutes; "+
				"another link: holdfast sign-in)\n", answer.Pages)
		}
		return err
	}); err != nil {
		return err
	}
	if j := answer.Job; c.Once && j != nil && j.State != wire.JobDone {
		return fmt.Errorf("job %d: %s: %s", j.ID, j.State, j.Reason)
	}
	return nil
}

// decides waits until the node, which has just started, can decide by itself: on a slow machine that takes a while.
func decides(ctx context.Context, archive *client.Client) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, wire.ErrNoQuorum)
	defer cancel()
	err := every(ctx, 50*time.Millisecond, func() (bool, error) {
		status, err := archive.Status(ctx)
		if errors.Is(err, wire.ErrUnavailable) {
			return false, nil
		}
		return status.Cluster.Quorum, err
	})
	if err != nil && errors.Is(context.Cause(ctx), wire.ErrNoQuorum) {
		return fmt.Errorf("the node did not begin to decide within two minutes: %w", wire.ErrNoQuorum)
	}
	return err
}

// broughtIn describes what a job that is not done has harvested.
func broughtIn(j wire.Job) string {
	if j.Stats.Objects == 0 {
		return "Nothing was archived"
	}
	return fmt.Sprintf("The crawl failed after %d documents, %s", j.Stats.Objects, size(j.Stats.Bytes))
}

// settled waits until all of the job's files are complete everywhere and no node has files left to index.
func settled(ctx context.Context, archive *client.Client, job uint64) error {
	return every(ctx, 100*time.Millisecond, func() (bool, error) {
		for f, err := range archive.Files().List(ctx, fmt.Sprintf("%d-", job)) {
			if err != nil || !f.Complete {
				return false, err
			}
		}
		indexes, err := archive.Index().Status(ctx)
		for _, i := range indexes {
			if i.Pending > 0 || i.Rebuilding {
				return false, err
			}
		}
		return err == nil, err
	})
}
