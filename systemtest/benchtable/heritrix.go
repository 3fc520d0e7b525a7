package main

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// envHeritrix names the folder of an unpacked distribution of Heritrix 3, which is measured where there is one.
const envHeritrix = "HERITRIX"

// heritrix crawls the seeds' hosts once with Heritrix, its politeness off, and counts what it wrote.
func (m *measurer) heritrix(ctx context.Context, home string, seeds []string) (trip, error) {
	dir, err := os.MkdirTemp(m.dir, "heritrix-")
	if err != nil {
		return trip{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	profile, err := heritrixProfile(home)
	if err != nil {
		return trip{}, err
	}
	if profile, err = heritrixJob(profile, seeds); err != nil {
		return trip{}, err
	}
	job := filepath.Join(dir, "jobs", "bench")
	if err := os.MkdirAll(job, 0o755); err != nil {
		return trip{}, err
	}
	if err := os.WriteFile(filepath.Join(job, "crawler-beans.cxml"), []byte(profile), 0o644); err != nil {
		return trip{}, err
	}
	jars, err := filepath.Glob(filepath.Join(home, "lib", "*.jar"))
	if err != nil {
		return trip{}, err
	}
	cmd := exec.CommandContext(ctx, "java", "-Xmx1g", "-Dheritrix.home="+home,
		"-Djava.protocol.handler.pkgs=org.archive.net",
		"-cp", strings.Join(jars, string(filepath.ListSeparator)), "org.archive.crawler.Heritrix",
		"-a", "bench:bench", "-b", "127.0.0.1", "-p", cmp.Or(os.Getenv("HERITRIX_PORT"), "18443"), "-j",
		filepath.Join(dir, "jobs"), "-r", "bench")
	cmd.Dir = dir
	began := time.Now()
	out, err := cmd.CombinedOutput()
	t := trip{wall: time.Since(began)}
	if err != nil {
		return t, fmt.Errorf("heritrix: %w: %s", err, out[max(0, len(out)-500):])
	}
	t.worked = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	// Beside the launch's folder lies a link to it.
	pages, err := readPages(filepath.Join(job, "[0-9]*", "warcs", "*.warc.gz"))
	t.pages = len(pages)
	if err == nil && t.pages == 0 {
		err = fmt.Errorf("heritrix wrote nothing: %s", out[max(0, len(out)-500):])
	}
	return t, err
}

// heritrixProfile reads the job that Heritrix makes new jobs of.
func heritrixProfile(home string) (profile string, err error) {
	found, err := filepath.Glob(filepath.Join(home, "lib", "heritrix-engine-*.jar"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("%s=%s: no lib/heritrix-engine-*.jar: %w", envHeritrix, home,
			errors.Join(err, os.ErrNotExist))
	}
	jar, err := zip.OpenReader(found[0])
	if err != nil {
		return "", fmt.Errorf("open %s: %w", found[0], err)
	}
	defer func() { err = errors.Join(err, jar.Close()) }()
	f, err := jar.Open("org/archive/crawler/restlet/profile-crawler-beans.cxml")
	if err != nil {
		return "", fmt.Errorf("read %s: %w", found[0], err)
	}
	data, err := io.ReadAll(f)
	return string(data), errors.Join(err, f.Close())
}

// heritrixJob makes of the profile a crawl of the seeds' hosts that waits for nothing and keeps its connections.
func heritrixJob(profile string, seeds []string) (string, error) {
	var hosts []string
	for _, s := range seeds {
		u, err := url.Parse(s)
		if err != nil {
			return "", fmt.Errorf("seed %s: %w", s, err)
		}
		hosts = append(hosts, "+"+u.Scheme+"://"+u.Host+"/")
	}
	for _, change := range [][2]string{
		{"metadata.operatorContactUrl=ENTER_AN_URL_WITH_YOUR_CONTACT_INFO_HERE_FOR_WEBMASTERS_AFFECTED_BY_YOUR_CRAWL",
			strings.Join([]string{"metadata.operatorContactUrl=http://127.0.0.1/", "disposition.delayFactor=0",
				"disposition.minDelayMs=0",
				"disposition.maxDelayMs=0", "disposition.respectCrawlDelayUpToSeconds=0",
				"crawlController.pauseAtStart=false",
				"crawlController.maxToeThreads=25", "fetchHttp.useHTTP11=true", "fetchHttp.sendConnectionClose=false",
				"frontier.maxRetries=5", "frontier.retryDelaySeconds=1"}, "\n")},
		{"http://example.example/example", strings.Join(seeds, "\n")},
		{`<!-- <property name="maxHops" value="20" /> -->`, `<property name="maxHops" value="1000" />`},
		{`<!-- <property name="seedsAsSurtPrefixes" value="true" /> -->`,
			`<property name="surtsSource"><bean class="org.archive.spring.ConfigString">` +
				"<property name=\"value\"><value>\n" + strings.Join(hosts, "\n") +
				"\n</value></property></bean></property>"},
	} {
		if !strings.Contains(profile, change[0]) {
			return "", fmt.Errorf("heritrix: its profile has no %q: another version?", change[0])
		}
		profile = strings.Replace(profile, change[0], change[1], 1)
	}
	return profile, nil
}
