package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type accessCmd struct {
	List   accessListCmd   `cmd:"" help:"List the rules that say who may see which captures."`
	Show   accessShowCmd   `cmd:"" help:"Show a rule, with its private reason, by whom and when."`
	Add    accessAddCmd    `cmd:"" help:"Add a rule."`
	Change accessChangeCmd `cmd:"" help:"Put another text in the place of a rule's."`
	Remove accessRemoveCmd `cmd:"" help:"Remove rules."`
	Test   accessTestCmd   `cmd:"" help:"Tell what the rules say of a capture and a reader, and which rule decides."`
	Import accessImportCmd `cmd:"" help:"Add the rules of a pywb access file, or of OutbackCDX."`
	Export accessExportCmd `cmd:"" help:"Print the rules as a pywb access file (.aclj)."`
}

// Help says how a rule is found.
func (accessCmd) Help() string {
	return "The most specific rule decides: the very URL before a prefix, a longer prefix before a shorter one; then " +
		"the narrower range of addresses, the higher role, and a rule with capture dates or an age before one " +
		"without; among equals the strictest. What no rule is about may be seen. The rules hold for everybody, " +
		"administrators too."
}

// accessFlags are what a rule says.
type accessFlags struct {
	Access    string   `required:"" enum:"allow,block,exclude" help:"What it says: allow; block: listed and refused (451); exclude: as if not archived."`
	Surt      string   `placeholder:"PREFIX" help:"Instead of a URL: the start of a SURT key, such as com,example)/a."`
	From      string   `placeholder:"DATE" help:"Only captures from this date on: 4 to 14 digits."`
	To        string   `placeholder:"DATE" help:"Only captures up to the end of this date."`
	Newer     string   `placeholder:"AGE" help:"Only captures that are newer than this, such as 2y6m or 90d: an embargo that rolls on."`
	Older     string   `placeholder:"AGE" help:"Only captures that are older than this."`
	Begin     string   `placeholder:"DATE" help:"In force from this date on."`
	End       string   `placeholder:"DATE" help:"In force up to the end of this date."`
	Role      string   `enum:"reader,curator,operator,admin," default:"" help:"Only for who has this role or a higher one: reader, curator, operator or admin."`
	Addresses []string `name:"address" placeholder:"RANGE" help:"Only for readers at this address or range, such as 192.0.2.0/24; may be repeated."`
	Message   string   `help:"Text for readers who are refused."`
	Reason    string   `help:"Text for those who keep the rules; both are in the audit trail."`
}

// text is the rule, about a URL as people write it.
func (f accessFlags) text(url string) (wire.AccessRuleText, error) {
	if (url == "") == (f.Surt == "") {
		return wire.AccessRuleText{}, usage("give a URL, or --surt with a prefix: * stands for everything, " +
			"*.example.com for a domain, http://example.com/a* for all that begins so")
	}
	return wire.AccessRuleText{URL: url, Prefix: f.Surt, Access: f.Access, From: f.From, To: f.To, Newer: f.Newer,
		Older: f.Older, Begin: f.Begin, End: f.End, Role: f.Role, Addresses: f.Addresses, Message: f.Message,
		Reason: f.Reason}, nil
}

type accessListCmd struct {
	URL    string `help:"List only rules that are about this URL, whatever else they ask for."`
	Search string `placeholder:"TEXT" help:"List only what has this text in its prefix, message or reason."`
}

func (c accessListCmd) Run(a *app) error {
	return ask(a, func(a *app, all []wire.AccessRule) error {
		return list(a, all, table.Row{"Rule", "Access", "About", "When", "For", "Message", "Changed", "By"},
			func(r wire.AccessRule) table.Row {
				return table.Row{r.Number, r.Access, aboutWhat(r), whichCaptures(r), forWhom(r), r.Message,
					when(r.Changed), r.ChangedBy}
			})
	}, func(ctx context.Context, archive *client.Client) ([]wire.AccessRule, error) {
		return gathered(client.AccessOf(archive).List(ctx, c.URL, c.Search))
	})
}

// aboutWhat is whose captures a rule is about.
func aboutWhat(r wire.AccessRule) string {
	switch {
	case r.Prefix == "":
		return "everything"
	case r.Exact:
		return r.Prefix
	}
	return r.Prefix + "…"
}

// whichCaptures are the dates and ages of a rule.
func whichCaptures(r wire.AccessRule) string {
	var parts []string
	for _, p := range [][2]string{{"from", r.From}, {"to", r.To}, {"newer than", r.Newer}, {"older than", r.Older},
		{"in force from", r.Begin}, {"in force to", r.End}} {
		if p[1] != "" {
			parts = append(parts, p[0]+" "+p[1])
		}
	}
	return strings.Join(parts, ", ")
}

// forWhom are the readers of a rule.
func forWhom(r wire.AccessRule) string {
	var parts []string
	if r.Role != "" {
		parts = append(parts, r.Role)
	}
	return strings.Join(append(parts, r.Addresses...), ", ")
}

func showAccessRule(a *app, r wire.AccessRule) error {
	return a.answer(r, func() error {
		return a.table(nil, []table.Row{{"rule", r.Number}, {"access", r.Access}, {"about", aboutWhat(r)},
			{"when", whichCaptures(r)}, {"for", forWhom(r)}, {"message", r.Message}, {"reason", r.Reason},
			{"made", when(r.Made)}, {"by", r.MadeBy}, {"changed", when(r.Changed)}, {"by", r.ChangedBy},
			{"version", r.Version}})
	})
}

type accessShowCmd struct {
	Number uint64 `arg:"" help:"The rule's number."`
}

func (c accessShowCmd) Run(a *app) error {
	return ask(a, showAccessRule, func(ctx context.Context, archive *client.Client) (wire.AccessRule, error) {
		return client.AccessOf(archive).Show(ctx, c.Number)
	})
}

type accessAddCmd struct {
	URL string `arg:"" optional:"" help:"Whose captures the rule is about: * for everything, *.example.com for a domain, http://example.com/a* for all that begins so, else one URL."`
	accessFlags
}

func (c accessAddCmd) Run(a *app) error {
	text, err := c.text(c.URL)
	if err != nil {
		return err
	}
	return ask(a, showAccessRule, func(ctx context.Context, archive *client.Client) (wire.AccessRule, error) {
		added, err := client.AccessOf(archive).Add(ctx, text)
		if err != nil {
			return wire.AccessRule{}, err
		}
		return client.AccessOf(archive).Show(ctx, added.First)
	})
}

type accessChangeCmd struct {
	Number uint64 `arg:"" help:"The rule's number."`
	URL    string `arg:"" optional:"" help:"Whose captures the rule is about, as in access add. Default: those that it is about."`
	accessFlags
}

// Help says that nothing stays but what is given.
func (accessChangeCmd) Help() string {
	return "The rule is then what is given here: a condition that is left out is none."
}

func (c accessChangeCmd) Run(a *app) error {
	return ask(a, showAccessRule, func(ctx context.Context, archive *client.Client) (wire.AccessRule, error) {
		before, err := client.AccessOf(archive).Show(ctx, c.Number)
		if err != nil {
			return before, err
		}
		change := wire.AccessRuleChange{Version: before.Version}
		if c.URL == "" && c.Surt == "" {
			c.URL = "*"
			if change.AccessRuleText, err = c.text(c.URL); err == nil {
				change.URL, change.Prefix, change.Exact = "", before.Prefix, before.Exact
			}
		} else {
			change.AccessRuleText, err = c.text(c.URL)
		}
		if err != nil {
			return before, err
		}
		return client.AccessOf(archive).Change(ctx, c.Number, change)
	})
}

type accessRemoveCmd struct {
	Numbers []uint64 `arg:"" name:"number" help:"The rules' numbers."`
	Reason  string   `help:"Reason, written into the audit trail."`
}

func (c accessRemoveCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		for rest := c.Numbers; len(rest) > 0; {
			n := min(len(rest), rulesAtOnce)
			in := wire.AccessRulesRemoval{Reason: c.Reason}
			for _, number := range rest[:n] {
				in.Rules = append(in.Rules, wire.AccessRuleRef{Number: number})
			}
			if err := client.AccessOf(archive).Remove(ctx, in); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return a.done("removed", fmt.Sprint(len(c.Numbers), " rules"))
	})
}

type accessTestCmd struct {
	URL     string `arg:"" help:"The capture's URL."`
	Date    string `help:"The capture's date, 4 to 14 digits. Default: now."`
	Role    string `enum:"reader,curator,operator,admin," default:"" help:"The reader's role: reader, curator, operator or admin. Default: a reader of whom nothing is known."`
	Address string `help:"The reader's address. Default: one that is in no range."`
}

func (c accessTestCmd) Run(a *app) error {
	return ask(a, func(a *app, v wire.AccessVerdict) error {
		return a.answer(v, func() error {
			rows := []table.Row{{"access", v.Access}, {"key", v.Key}, {"capture", v.Timestamp}}
			if v.Rule == nil {
				rows = append(rows, table.Row{"rule", fmt.Sprintf("none of %d is about it", v.Rules)})
			} else {
				rows = append(rows, table.Row{"rule", v.Rule.Number}, table.Row{"about", aboutWhat(*v.Rule)},
					table.Row{"when", whichCaptures(*v.Rule)}, table.Row{"for", forWhom(*v.Rule)},
					table.Row{"message", v.Rule.Message}, table.Row{"reason", v.Rule.Reason})
			}
			if !v.Unconfirmed.IsZero() {
				rows = append(rows, table.Row{"unconfirmed since", when(v.Unconfirmed)})
			}
			return a.table(nil, rows)
		})
	}, func(ctx context.Context, archive *client.Client) (wire.AccessVerdict, error) {
		return client.AccessOf(archive).Test(ctx,
			client.AccessQuestion{URL: c.URL, Date: c.Date, Role: c.Role, Address: c.Address})
	})
}
