package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	waiting "holdfast/catalog/approvals"
	agreed "holdfast/catalog/files"
)

// soleTime is how long the files that only one node has may be counted: every entry of its shards is read.
const soleTime = 10 * time.Minute

// soleNamed is how many of the files that are lost with a node a refusal names.
const soleNamed = 5

// soles are the files that only one node has.
type soles struct{ *server }

// soleCursor is the pattern of the cursors of a list of sole files.
const soleCursor = `^(|n-([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2,3})?)$`

// soleListing is the input of a list of the files that no other node has.
type soleListing struct {
	ByName
	Paging
}

// list returns a page of the files of which no node but this one has good bytes. The first page says how many
// there are in all.
func (s soles) list(ctx context.Context, id catalog.NodeID, in *soleListing) (wire.Page[wire.File], error) {
	page := wire.Page[wire.File]{Items: []wire.File{}}
	after, err := openCursor(in.After, "n")
	if err == nil && !agreed.IsSolePlace(after) {
		err = errCursor
	}
	if err != nil {
		return page, err
	}
	if err := s.Catalog.Linear(ctx); err != nil {
		return page, err
	}
	err = s.Catalog.View(func(v catalog.View) error {
		m, err := v.Member(id)
		if err != nil {
			return err
		}
		last, total := "", int64(0)
		err = agreed.SolesIn(v.Reader).Each(&m, after, ctx.Err, func(place string, f *catalog.File) (bool, error) {
			if total++; len(page.Items) == in.Limit {
				page.Next = makeCursor("n", last)
				return after == "", nil
			}
			shown, err := show(v, *f)
			page.Items, last = append(page.Items, shown), place
			return true, err
		})
		if after == "" {
			page.Total = &total
		}
		return err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = uncounted()
	}
	return page, err
}

// uncounted says that the files that are lost with a node were not counted in time.
func uncounted() error {
	return problem(http.StatusGatewayTimeout, wire.CodeTimeout, fmt.Sprintf("the files that only this node has were "+
		"not counted within %v: nothing was changed; ask again when the nodes have less to do", soleTime))
}

// count counts the files of which no node but this one has good bytes, and names the first.
func (s soles) count(ctx context.Context, id catalog.NodeID) (files, bytes int64, first []string, err error) {
	if err := s.Catalog.Linear(ctx); err != nil {
		return 0, 0, nil, err
	}
	err = s.Catalog.View(func(v catalog.View) error {
		m, err := v.Member(id)
		if err != nil {
			return err
		}
		see := func(_ string, f *catalog.File) (bool, error) {
			if files, bytes = files+1, bytes+f.Size; len(first) < soleNamed {
				first = append(first, string(f.Name))
			}
			return true, nil
		}
		return agreed.SolesIn(v.Reader).Each(&m, "", ctx.Err, see)
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = uncounted()
	}
	return files, bytes, first, err
}

// known refuses to remove a lost node unless who asks knows how many files are lost with it.
func (s soles) known(ctx context.Context, id catalog.NodeID, in *wire.Removal) error {
	if !in.Lost {
		return nil
	}
	files, bytes, first, err := s.count(ctx, id)
	if err != nil {
		return err
	}
	if files == in.Files {
		return nil
	}
	if files == 0 {
		return problem(http.StatusConflict, wire.CodeConflict,
			fmt.Sprintf("every file has a good copy elsewhere, and %d are said to have none: look again", in.Files))
	}
	names := strings.Join(first, ", ")
	if files > int64(len(first)) {
		names += ", …"
	}
	return problem(http.StatusConflict, wire.CodeConflict, fmt.Sprintf("%d files of %d bytes have no good copy "+
		"elsewhere, and are lost if the node is (%s); the number that was given is %d. List them, and give the right "+
		"number", files, bytes, names, in.Files))
}

// sole returns how many files are lost with the node that a proposal is about, as its parameters say.
func sole(parameters map[string]any) int64 {
	n, _ := parameters["sole"].(float64)
	return int64(n)
}

// still refuses to grant the removal of a lost node when another number of files is lost with it than was shown.
func (s soles) still(ctx context.Context, id uint64) error {
	var removal *catalog.MemberRemoval
	err := s.Catalog.View(func(v catalog.View) error {
		p, err := catalog.ApprovalsIn(v).Proposal(id)
		if err == nil && p.Class == waiting.NodeLost && p.State == waiting.Waiting {
			removal = new(catalog.MemberRemoval)
			err = json.Unmarshal(p.Body, removal)
		}
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) {
		return nil // the catalog says so
	}
	if err != nil || removal == nil {
		return err
	}
	err = s.known(ctx, removal.ID, &wire.Removal{Lost: removal.Lost, Files: removal.Sole})
	if errors.Is(err, catalog.ErrNotFound) { // of the node: the catalog says so
		return nil
	}
	return err
}
