package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"holdfast/harvest"
)

// checked tells whether a job can be crawled, before anything is made for it. A contact that is missing is asked for
// where somebody sits at a terminal; elsewhere the error says how to give it.
func (a *app) checked(job *harvest.Job) error {
	err := job.Validate()
	if !errors.Is(err, harvest.ErrNoContact) {
		return err
	}
	if !a.atTerminal() {
		return fmt.Errorf("%w; give --contact, or set HOLDFAST_CONTACT", err)
	}
	fmt.Fprint(a.stderr, "Site owners must be able to reach whoever crawls their site.\nYour e-mail address, or a "+
		"page about the crawl: ")
	line, err := bufio.NewReader(a.stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the contact: %w", err)
	}
	job.Settings.OperatorContact = strings.TrimSpace(line)
	if err := job.Validate(); err != nil {
		return err
	}
	fmt.Fprintln(a.stderr, "Next time, give it with --contact or HOLDFAST_CONTACT.")
	return nil
}

// atTerminal reports whether somebody can be asked.
func (a *app) atTerminal() bool {
	f, ok := a.stdin.(*os.File)
	return ok && !a.JSON && term.IsTerminal(int(f.Fd()))
}
