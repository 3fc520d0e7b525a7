package cli

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"holdfast/api/wire"
)

// confirmed carries out an act that the cluster wants to have confirmed: it prints what the act would do, and does it
// with --yes, or if somebody at the terminal agrees.
func (a *app) confirmed(yes bool, act func(confirm string) error) error {
	confirm := ""
	for range 3 { // its effects may change meanwhile
		err := act(confirm)
		var asked *wire.Error
		if !errors.As(err, &asked) || asked.Code != wire.CodeUnconfirmed {
			return err
		}
		fmt.Fprintln(a.stderr, "This would happen:")
		for _, effect := range asked.Fields {
			fmt.Fprintln(a.stderr, "  "+effect)
		}
		switch {
		case yes:
		case !a.atTerminal():
			return usage("this cannot be undone; to do it, say --yes")
		default:
			fmt.Fprint(a.stderr, "This cannot be undone. Type yes to do it: ")
			line, err := bufio.NewReader(a.stdin).ReadString('\n')
			if err != nil || strings.TrimSpace(line) != "yes" {
				return exitError{exitFailed, errors.New("nothing was done")}
			}
		}
		confirm = asked.Confirm
	}
	return errors.New("the effects of this command keep changing; look at holdfast status and try again")
}
