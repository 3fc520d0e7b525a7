package archive

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/approvals"
	"holdfast/node/wire"
	"holdfast/replica"
)

// findLimit is how long a node may take to read what it has under a lost file's name.
const findLimit = 10 * time.Minute

// Losses declares files lost for the API, after every node was asked whether it has them.
type Losses struct{ Cluster }

// Lose declares the file lost. It is refused while a node has its bytes, or does not say that it has not, and if its
// entry is not of the given version, or changes while the nodes are asked.
func (l Losses) Lose(ctx context.Context, name catalog.FileName, version uint64, reason, actor string) error {
	var file catalog.File
	var members []catalog.Member
	var mark uint64
	err := l.Catalog.View(func(v catalog.View) (err error) {
		if file, err = v.File(name); err != nil {
			return err
		}
		if mark, err = catalog.EntryMark(v, file); err == nil {
			members, err = v.Members()
		}
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) {
		return fmt.Errorf("file %s: %w", name, api.ErrNotFound)
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", name, err)
	}
	if version != 0 && version != file.Version {
		return &catalog.Refusal{Code: catalog.Conflict, Message: fmt.Sprintf(
			"file %s has changed since it was looked at: its entry is version %d now, it was %d",
			name, file.Version, version)}
	}
	checked, err := l.look(ctx, file, members)
	if err != nil {
		return err
	}
	loss := catalog.FileLoss{Name: name, SHA256: file.SHA256, Reason: reason, Checked: checked, Version: mark}
	return l.propose(ctx, loss, actor)
}

// Undo takes it back that the file is lost: its copies are owed again.
func (l Losses) Undo(ctx context.Context, name catalog.FileName, reason, actor string) error {
	var file catalog.File
	err := l.Catalog.View(func(v catalog.View) (err error) { file, err = v.File(name); return err })
	if errors.Is(err, catalog.ErrNotFound) {
		return fmt.Errorf("file %s: %w", name, api.ErrNotFound)
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", name, err)
	}
	return l.propose(ctx, catalog.FileLoss{Name: name, SHA256: file.SHA256, Reason: reason, Undo: true}, actor)
}

func (l Losses) propose(ctx context.Context, loss catalog.FileLoss, actor string) error {
	result, err := l.Catalog.Propose(ctx, catalog.LoseFile, loss, actor)
	if err == nil && result.Refusal != nil && result.Refusal.Code == agree.Unapproved {
		return l.proposeAct(ctx, loss, actor)
	}
	if err == nil && result.Refusal != nil {
		if result.Refusal.Code == catalog.Unsupported {
			result.Refusal.Message += "; raise the level: holdfast cluster level 2"
		}
		err = result.Refusal
	}
	return err
}

// proposeAct keeps a loss that waits for a second person, and returns an *approvals.Pending: it was not declared.
func (l Losses) proposeAct(ctx context.Context, loss catalog.FileLoss, actor string) error {
	text, err := agree.AppendJSON(nil, loss)
	if err != nil {
		return fmt.Errorf("encode the loss of %s: %w", loss.Name, err)
	}
	result, err := l.Catalog.Propose(ctx, approvals.Propose, approvals.Proposing{Kind: catalog.LoseFile, Body: text},
		actor)
	if err != nil {
		return err
	}
	return approvals.PendingOf(result)
}

// look has every member read what it has under the file's name. It returns the members if none of them has the file,
// and an error if one has it or does not say.
func (l Losses) look(ctx context.Context, file catalog.File, members []catalog.Member) ([]catalog.NodeID, error) {
	ctx, cancel := context.WithTimeout(ctx, findLimit)
	defer cancel()
	want := replica.Held{Name: file.Name, Size: file.Size, SHA256: file.SHA256}
	own := func(ctx context.Context) (bool, error) { return l.Own.Find(ctx, l.Self, want) }
	replies := wire.AskAll(ctx, l.Ask, l.Self, members, replica.FindCall, want, own)
	var checked []catalog.NodeID
	var why []string
	for _, r := range replies {
		switch {
		case r.Err != nil:
			why = append(why, fmt.Sprintf("%s does not say whether it has the bytes: %v", r.To.Name, r.Err))
		case r.Answer:
			why = append(why, r.To.Name+" has its bytes")
		default:
			checked = append(checked, r.To.ID)
		}
	}
	if len(why) > 0 {
		return nil, &catalog.Refusal{Code: catalog.Unsafe, Message: fmt.Sprintf("file %s is not lost: %s",
			file.Name, strings.Join(why, "; "))}
	}
	return checked, nil
}
