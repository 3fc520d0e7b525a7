package cli

import (
	"context"
	"fmt"

	"holdfast/api/wire"
	"holdfast/client"
)

type signInCmd struct{}

// Help says what the link is.
func (signInCmd) Help() string {
	return "The link works once, within ten minutes, in any browser that reaches the node. Whoever opens it is " +
		"signed in as you: with --token as the person whose access token it is, with --config as administrator, by " +
		"the node's own token. The session ends when you sign out, when the token is revoked, when your grants " +
		"change, and after 12 hours without a visit."
}

func (signInCmd) Run(a *app) error {
	return ask(a, func(a *app, link wire.SignInLink) error {
		return a.answer(link, func() error {
			fmt.Fprintf(a.stderr, "Open this link in a browser; it works once, until %s:\n", when(link.Expires))
			_, err := fmt.Fprintln(a.stdout, link.URL)
			return err
		})
	}, func(ctx context.Context, c *client.Client) (wire.SignInLink, error) { return c.People().SignIn(ctx) })
}

// signInLink returns a link that signs in to the node's pages, empty if the node gives none: then it says why.
func signInLink(a *app, archive *client.Client) string {
	link, err := archive.People().SignIn(a.ctx)
	if err != nil && a.ctx.Err() == nil && !a.JSON {
		fmt.Fprintf(a.stderr, "There is no link to the pages: %v\n", err)
	}
	return link.URL
}
