package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"holdfast/access"
	"holdfast/api/wire"
	"holdfast/client"
)

// rulesAtOnce is how many rules one request takes.
const rulesAtOnce = 50

type accessImportCmd struct {
	File   string            `arg:"" type:"existingfile" help:"A pywb access file (.aclj), or what OutbackCDX answers for its access rules (JSON)."`
	Form   string            `enum:"aclj,outbackcdx" default:"aclj" help:"What the file is: aclj or outbackcdx."`
	User   map[string]string `placeholder:"USER=ROLE" help:"Which role a user in a pywb file is; may be repeated."`
	Policy map[string]string `placeholder:"ID=ACCESS" help:"What a policy of OutbackCDX is here: allow, block or exclude; may be repeated."`
	Reason string            `help:"Private reason of the rules that have none."`
	Check  bool              `help:"Only read the file, and say how many rules would be added."`
}

// Help says what is done with rules that are there.
func (accessImportCmd) Help() string {
	return "The whole file is read before anything is added: a line that cannot be used refuses all. Rules that are " +
		"there already, with the same conditions and texts, are left out, so that an import that was broken off can " +
		"be repeated."
}

func (c accessImportCmd) Run(a *app) error {
	rules, off, err := c.read()
	if err == nil && len(rules)+off == 0 {
		err = usage("%s: there is no rule in it", c.File)
	}
	if err != nil {
		return err
	}
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		there, err := gathered(client.AccessOf(archive).List(ctx, "", ""))
		if err != nil {
			return err
		}
		known := map[string]bool{}
		for _, r := range there {
			known[sameRule(r.AccessRuleText)] = true
		}
		var add []wire.AccessRuleText
		for _, r := range rules {
			if id := sameRule(r); !known[id] {
				known[id] = true
				add = append(add, r)
			}
		}
		result := map[string]int{"read": len(rules), "added": len(add), "there": len(rules) - len(add), "off": off}
		if c.Check {
			result["added"], result["new"] = 0, len(add)
		} else {
			for i := 0; i < len(add); i += rulesAtOnce {
				if _, err := client.AccessOf(archive).Add(ctx, add[i:min(i+rulesAtOnce, len(add))]...); err != nil {
					return fmt.Errorf("%d of %d rules were added: %w", i, len(add), err)
				}
			}
		}
		return a.answer(result, func() error {
			verb := "were added"
			if c.Check {
				verb = "would be added"
			}
			_, err := fmt.Fprintf(a.stdout, "%d of %d rules %s, %d were there already, %d that are switched off were "+
				"left out.\n", len(add), len(rules), verb, result["there"], off)
			return err
		})
	})
}

// sameRule is the same for rules that say the same.
func sameRule(r wire.AccessRuleText) string { return fmt.Sprintf("%+v", r) }

// read reads the file.
func (c accessImportCmd) read() (out []wire.AccessRuleText, off int, err error) {
	text, err := os.ReadFile(c.File)
	if err != nil {
		return nil, 0, err
	}
	fault := func(err error) error {
		if errors.Is(err, access.ErrRule) {
			return usage("%s: %w; no rule was added", c.File, err)
		}
		return err
	}
	var found []access.Imported
	if c.Form == "outbackcdx" {
		policies := map[string]access.Decision{}
		for id, decision := range c.Policy {
			if err := (access.Rule{Access: access.Decision(decision)}).Check(); err != nil {
				return nil, 0, usage("--policy %s=%s: %w", id, decision, err)
			}
			policies[id] = access.Decision(decision)
		}
		if found, off, err = access.ParseOutback(bytes.NewReader(text), policies); err != nil {
			return nil, 0, fault(err)
		}
	} else {
		users := map[string]access.Role{}
		for user, role := range c.User {
			if err := (access.Rule{Role: access.Role(role), Access: access.Allow}).Check(); err != nil {
				return nil, 0, usage("--user %s=%s: %w", user, role, err)
			}
			users[user] = access.Role(role)
		}
		rules, err := access.ParseACLJ(bytes.NewReader(text), users)
		if err != nil {
			return nil, 0, fault(err)
		}
		for _, r := range rules {
			found = append(found, access.Imported{Rule: r})
		}
	}
	for _, r := range found {
		if r.Reason == "" {
			r.Reason = c.Reason
		}
		out = append(out, wire.AccessRuleText{Prefix: r.Prefix, Exact: r.Exact, Access: string(r.Access), From: r.From,
			To: r.To, Newer: r.Newer, Older: r.Older, Begin: r.Begin, End: r.End, Role: string(r.Role),
			Addresses: r.Addresses, Message: r.Message, Reason: r.Reason})
	}
	return out, off, nil
}

type accessExportCmd struct {
	User map[string]string `placeholder:"USER=ROLE" help:"Which user of pywb's a role is; may be repeated. Default: the role's name."`
}

// Help says what pywb's files cannot say.
func (accessExportCmd) Help() string {
	return "pywb knows neither dates in force nor addresses: with a rule that has them, nothing is printed, and the " +
		"rule is named. Messages and reasons are not in the file."
}

func (c accessExportCmd) Run(a *app) error {
	users := map[access.Role]string{}
	for user, role := range c.User {
		users[access.Role(role)] = user
	}
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		all, err := gathered(client.AccessOf(archive).List(ctx, "", ""))
		if err != nil {
			return err
		}
		var rules []access.Rule
		for _, r := range all {
			rule := access.Rule{Prefix: r.Prefix, Exact: r.Exact, Access: access.Decision(r.Access), From: r.From,
				To: r.To, Newer: r.Newer, Older: r.Older, Begin: r.Begin, End: r.End, Role: access.Role(r.Role),
				Addresses: r.Addresses}
			if err := rule.CheckACLJ(users); err != nil {
				return fmt.Errorf("rule %d cannot be exported: %w", r.Number, err)
			}
			rules = append(rules, rule)
		}
		text, err := access.FormatACLJ(rules, users)
		if err != nil {
			return err
		}
		return a.answer(map[string]string{"aclj": string(text)}, func() error {
			_, err := a.stdout.Write(text)
			return err
		})
	})
}
