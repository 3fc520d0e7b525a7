package runs

import (
	"fmt"
	"strconv"
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/domains"
)

// View answers questions about the subject; see agree.View.
type View struct{ agree.View }

// NewView returns a View of what r shows.
func NewView(r agree.Reader) View { return View{agree.View{Reader: r}} }

// Harvest returns the harvest, or ErrNotFound.
func (v View) Harvest(number uint64) (Harvest, error) {
	return agree.Found(agree.Get[Harvest](v.Reader, keyHarvest(number)))
}

// HarvestNamed returns the harvest with the name, or ErrNotFound.
func (v View) HarvestNamed(name string) (Harvest, error) {
	number, err := agree.Found(agree.Get[uint64](v.Reader, keyName(name)))
	if err != nil {
		return Harvest{}, err
	}
	return v.Harvest(number)
}

// Harvests returns at most n harvests behind the one with the number, by number.
func (v View) Harvests(after uint64, n int) ([]Harvest, error) {
	return agree.List[Harvest](v.Reader, PrefixHarvests, numbered(after), n)
}

// Due returns at most n harvests whose date has come, the first date first. It reads nothing of the others.
func (v View) Due(now agree.Time, n int) (out []Harvest, err error) {
	var tails []string
	err = v.Reader.Scan([]byte(prefixDue), nil, func(key, _ []byte) bool {
		tail := string(key[len(prefixDue):])
		if tail[:16] > agree.Hex(uint64(now)) {
			return false
		}
		tails = append(tails, tail)
		return n <= 0 || len(tails) < n
	})
	if err != nil {
		return nil, err
	}
	for _, tail := range tails {
		number, err := numberAtEnd(tail)
		if err != nil {
			return out, err
		}
		h, err := v.Harvest(number)
		if err != nil {
			return out, fmt.Errorf("harvest %d, which is due: %w", number, err)
		}
		out = append(out, h)
	}
	return out, err
}

// Failed returns at most n harvests that the system deactivated because of an error.
func (v View) Failed(n int) (out []Harvest, err error) {
	tails, err := agree.Tails(v.Reader, prefixFailed, "", n)
	for _, tail := range tails {
		h, err := agree.Found(agree.Get[Harvest](v.Reader, PrefixHarvests+tail))
		if err != nil {
			return out, fmt.Errorf("harvest %s, which failed: %w", tail, err)
		}
		out = append(out, h)
	}
	return out, err
}

// Configurations returns at most n configurations of a harvest behind the given one, by domain and name.
func (v View) Configurations(number uint64, after Configuration, n int) ([]Configuration, error) {
	tail := ""
	if after.Domain != "" {
		tail = string(after.Domain) + "/" + after.Name
	}
	tails, err := agree.Tails(v.Reader, prefixConfigsOf(number), tail, n)
	out := make([]Configuration, len(tails))
	for i, tail := range tails {
		domain, name, _ := strings.Cut(tail, "/")
		out[i] = Configuration{domains.Name(domain), name}
	}
	return out, err
}

// HarvestsOf returns the numbers of at most n harvests that have a configuration of the domain, one for each
// configuration.
func (v View) HarvestsOf(domain domains.Name, n int) (out []uint64, err error) {
	tails, err := agree.Tails(v.Reader, prefixOfDomain(domain), "", n)
	for _, tail := range tails {
		number, err := numberAtEnd(tail)
		if err != nil {
			return out, err
		}
		out = append(out, number)
	}
	return out, err
}

// Run returns a run, or ErrNotFound.
func (v View) Run(number, run uint64) (Run, error) {
	return agree.Found(agree.Get[Run](v.Reader, keyRun(number, run)))
}

// Runs returns at most n runs of a harvest behind the given one.
func (v View) Runs(number, after uint64, n int) ([]Run, error) {
	return agree.List[Run](v.Reader, prefixRunsOf(number), numbered(after), n)
}

// OpenRuns returns the runs whose jobs are being made.
func (v View) OpenRuns() (out []Run, err error) {
	tails, err := agree.Tails(v.Reader, prefixOpen, "", 0)
	for _, tail := range tails {
		value, there, err := agree.Get[Run](v.Reader, PrefixRuns+tail)
		if err != nil || !there {
			return out, fmt.Errorf("run %s, which is open: %w", tail, err)
		}
		out = append(out, value)
	}
	return out, err
}

// numberAtEnd reads the number at a key's end.
func numberAtEnd(tail string) (uint64, error) {
	number, err := strconv.ParseUint(tail[strings.LastIndexByte(tail, '/')+1:], 16, 64)
	if err != nil {
		return 0, fmt.Errorf("a key that ends in %q: %w", tail, err)
	}
	return number, nil
}
