package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/cdx"
	"holdfast/client"
	"holdfast/harvest"
)

// harvest crawls the site's three hosts in one job.
func (t *trial) harvest(ctx context.Context) (string, error) {
	s := harvest.DefaultSettings()
	s.Nameserver = t.site.Nameserver
	s.AllowPrivate, s.OperatorContact = true, "demo@demo.test"
	s.MinDelay, s.DelayFactor, s.RetryDelay, s.MaxRetries = 0, 0, harvest.Duration(1e9), 2
	archive := t.nodes[0].client
	job, err := archive.Jobs().Create(ctx,
		wire.JobRequest{Name: "lindhaven", Seeds: t.site.Seeds, Settings: &wire.Settings{Settings: s}})
	if err != nil {
		return "", err
	}
	t.job = job.ID
	if job, err = waitJob(ctx, t.app, archive, job.ID); err != nil {
		return "", err
	}
	if job.State != wire.JobDone || job.Stats.StopReason != "completed" {
		return "", fmt.Errorf("job %d ended %s, %s: %s", job.ID, job.State, job.Stats.StopReason, job.Reason)
	}
	return fmt.Sprintf("job %d on %s: %d documents, %s", job.ID, job.NodeName, job.Stats.Objects,
		size(job.Stats.Bytes)), nil
}

// captured asks the index for every URL that the site has.
func (t *trial) captured(ctx context.Context) (string, error) {
	var missing []string
	total := 0
	err := t.until(ctx, t.nodes[0], func(archive *client.Client) (bool, error) {
		found := map[string]int{}
		for _, seed := range t.site.Seeds {
			for c, err := range archive.Captures(ctx, cdx.Query{URL: seed, Match: cdx.Host}) {
				var incomplete *cdx.Incomplete
				if errors.As(err, &incomplete) {
					return false, nil
				}
				if err != nil {
					return false, err
				}
				found[c.URL] = c.Status
			}
		}
		missing, total = nil, 0
		for _, p := range t.site.URLs() {
			total++
			if found[p.URL] != p.Status {
				missing = append(missing, p.URL)
			}
		}
		for _, p := range t.site.Refused() {
			if _, there := found[p.URL]; there {
				return false, fmt.Errorf("%s was captured though robots.txt keeps it out", p.URL)
			}
		}
		return len(missing) == 0, nil
	})
	if err != nil {
		return "", fmt.Errorf("%w; %d of %d URLs are missing: %s", err, len(missing), total,
			strings.Join(missing[:min(len(missing), 5)], " "))
	}
	return fmt.Sprintf("all %d URLs of the site; the %d that robots.txt keeps out are not", total,
		len(t.site.Refused())), nil
}

// files are those of the harvest.
func (t *trial) files(ctx context.Context, archive *client.Client) ([]wire.File, error) {
	return collect(archive.Files().List(ctx, fmt.Sprintf("%d-", t.job)))
}

// copied waits until each file has its three copies.
func (t *trial) copied(ctx context.Context) (string, error) {
	var files []wire.File
	err := t.until(ctx, t.nodes[0], func(archive *client.Client) (bool, error) {
		var err error
		files, err = t.files(ctx, archive)
		for _, f := range files {
			if !f.Complete || !f.Released {
				return false, err
			}
		}
		return len(files) > 0, err
	})
	if err != nil {
		return "", err
	}
	total := int64(0)
	for _, f := range files {
		if len(f.Copies) != 3 {
			return "", fmt.Errorf("%s has %d copies", f.Name, len(f.Copies))
		}
		total += f.Size
	}
	return fmt.Sprintf("%d files, %s: two copies and a checksum each", len(files), size(total)), nil
}

// repaired flips a bit of one copy in the south and lets an audit find it.
func (t *trial) repaired(ctx context.Context) (string, error) {
	archive, south := t.nodes[0].client, t.nodes[1]
	files, err := t.files(ctx, archive)
	if err != nil {
		return "", err
	}
	victim := files[0]
	for _, f := range files {
		if f.Size > victim.Size {
			victim = f
		}
	}
	stored := filepath.Join(south.cfg.Data, "files", victim.Shard, victim.Name)
	if err := flip(stored, victim.Size/2); err != nil {
		return "", err
	}
	audit, err := archive.Audits().Start(ctx, wire.AuditRequest{})
	if err != nil {
		return "", err
	}
	if audit, err = waitAudit(ctx, t.app, archive, audit); err != nil {
		return "", fmt.Errorf("audit: %w", err)
	}
	if audit.Corrupt != 1 || audit.Missing != 0 {
		return "", fmt.Errorf("the audit found %d corrupt and %d missing copies, not the one that was broken",
			audit.Corrupt, audit.Missing)
	}
	verdict := ""
	err = t.until(ctx, t.nodes[0], func(archive *client.Client) (bool, error) {
		if verdict, err = t.verdict(ctx, archive, victim.Name); err != nil || verdict == "" {
			return false, err
		}
		f, err := archive.Files().Show(ctx, victim.Name)
		return err == nil && f.Complete, err
	})
	if err != nil {
		return "", fmt.Errorf("wait for the repair: %w", err)
	}
	aside, err := os.ReadDir(filepath.Join(south.cfg.Data, "quarantine"))
	if err != nil || len(aside) == 0 {
		return "", fmt.Errorf("nothing is in the quarantine of %s: %w", south.name, err)
	}
	found, err := archive.Files().Verify(ctx, victim.Name)
	if err != nil {
		return "", err
	}
	for _, v := range found {
		if v.State != "ok" {
			return "", fmt.Errorf("after the repair the copy of %s is %s %s", v.Replica, v.State, v.Detail)
		}
	}
	return fmt.Sprintf("%s of %s: %s; set aside in quarantine, fetched again, verified", south.name, victim.Name,
		verdict), nil
}

// flip turns one bit of a file.
func flip(path string, at int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrPermission) {
		if err = os.Chmod(path, 0o644); err == nil {
			f, err = os.OpenFile(path, os.O_RDWR, 0)
		}
	}
	if err != nil {
		return err
	}
	b := make([]byte, 1)
	if _, err = f.ReadAt(b, at); err == nil {
		b[0] ^= 1
		_, err = f.WriteAt(b, at)
	}
	return errors.Join(err, f.Close())
}

// verdict returns the audit trail's text about the vote on a copy of the file, "" before there is one.
func (t *trial) verdict(ctx context.Context, archive *client.Client, name string) (string, error) {
	last := ""
	for e, err := range archive.Trail().All(ctx) {
		if err != nil {
			return "", err
		}
		if e.Act == string(catalog.JudgeCopies) && strings.Contains(e.Subject, name) {
			last = e.Detail
		}
	}
	return last, nil
}

// survive kills the northern node and reads pages from the others.
func (t *trial) survive(ctx context.Context) (string, error) {
	north, south, third := t.nodes[0], t.lasting(), t.nodes[2]
	if err := north.kill(); err != nil {
		return "", err
	}
	page := t.site.Seeds[1]
	killed := time.Now()
	var after []string
	for _, n := range []*child{south, third} {
		err := t.until(ctx, n, func(*client.Client) (bool, error) {
			status, body, err := n.page(ctx, "/web/id_/"+page)
			var broken *url.Error
			if errors.As(err, &broken) {
				return false, nil
			}
			return status == 200 && bytes.Contains(body, []byte("The Lindhaven Courier")), err
		})
		if err != nil {
			return "", fmt.Errorf("%s from %s: %w", page, n.name, err)
		}
		after = append(after, fmt.Sprintf("%s after %.1f s", n.name, time.Since(killed).Seconds()))
	}
	base, err := urlOf(south.cfg.Listen.Access)
	if err != nil {
		return "", err
	}
	t.browse = base + "/web/*/" + page
	if status, body, err := south.page(ctx, "/web/"+cdx.Timestamp(t.began)+"/"+page); err == nil && status == 200 &&
		bytes.Contains(body, []byte("/web/")) {
		t.browse = base + "/web/" + cdx.Timestamp(t.began) + "/" + page
	}
	return fmt.Sprintf("%s was killed; %s is shown by %s", north.name, page, strings.Join(after, ", by ")), nil
}
