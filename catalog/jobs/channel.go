package jobs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// The channels that come with the system: the defaults of their kinds.
const (
	Focused  = cluster.Focused
	Snapshot = cluster.Snapshot
)

// CheckChannel refuses what cannot be a channel's name.
func CheckChannel(name string) error { return cluster.CheckChannel(name) }

// mayServe refuses a job of a channel that the node does not serve.
func mayServe(s *agree.State, node *cluster.Member, j *Job) error {
	if s.Cluster.Level < cluster.LevelOfChannels || node.Serves(j.Channel) {
		return nil
	}
	return agree.Refuse(agree.Conflict, "job %d is of channel %s, which node %s does not serve",
		j.ID, agree.Clip(j.Channel, 64), node.Name)
}

// Serving reports whether a member that crawls serves the channel. It is not known, and taken for true, before members
// say which channels they serve.
func (v View) Serving(channel string) (bool, error) {
	c, _, err := agree.Get[agree.Cluster](v.Reader, agree.PrefixCluster)
	if err != nil || c.Level < cluster.LevelOfChannels {
		return true, err
	}
	members, err := cluster.In(v.Reader).Members()
	return slices.ContainsFunc(members, func(m cluster.Member) bool { return m.Crawls && m.Serves(channel) }), err
}

// Unserved is a channel with jobs that wait, and no node to take them.
type Unserved struct {
	Channel string
	Jobs    int // how many, at most waitingCounted
}

// waitingCounted is how many jobs that wait in a channel are counted at most.
const waitingCounted = 1000

// Unserved returns the channels in which jobs wait that no member would take.
func (v View) Unserved() (out []Unserved, err error) {
	channels, err := v.waitingChannels()
	if err != nil {
		return nil, err
	}
	for _, channel := range channels {
		served, err := v.Serving(channel)
		if err != nil {
			return nil, err
		}
		if served {
			continue
		}
		n, err := v.WaitingIn(channel)
		if err != nil {
			return nil, err
		}
		out = append(out, Unserved{channel, n})
	}
	return out, nil
}

// WaitingIn returns how many jobs wait in the channel; of many it counts the first ones.
func (v View) WaitingIn(channel string) (int, error) {
	jobs, err := agree.Tails(v.Reader, prefixWaiting+channel+"/", "", waitingCounted)
	return len(jobs), err
}

// errKey reports a key that is not in its form.
var errKey = errors.New("a key of a list of jobs by channel is damaged")

// waitingChannels returns the channels in which jobs wait.
func (v View) waitingChannels() ([]string, error) { return channels(v.Reader, prefixWaiting) }

// channels returns the channels of a list of jobs by channel. It reads a key of each.
func channels(r agree.Reader, prefix string) (out []string, err error) {
	for from := []byte(nil); ; {
		channel, found := "", false
		var damaged error
		err := r.Scan([]byte(prefix), from, func(key, _ []byte) bool {
			found = true
			end := len(key) - len("/0123456789abcdef")
			if end < len(prefix) {
				damaged = errKey
				return false
			}
			channel = string(key[len(prefix):end])
			return false
		})
		if err = errors.Join(err, damaged); err != nil || !found {
			return out, err
		}
		out = append(out, channel)
		from = []byte(prefix + channel + "0") // behind all keys with a slash there
	}
}

// NewChannels returns the channels of the new jobs of harvests that are to be submitted.
func NewChannels(r agree.Reader) ([]string, error) { return channels(r, prefixNew) }

// NewIn returns the numbers of at most n new jobs of harvests that are to be submitted to a channel, the oldest first.
// Jobs made by hand, and with them all from before level 4, are not among them.
func NewIn(r agree.Reader, channel string, n int) ([]uint64, error) {
	tails, err := agree.Tails(r, prefixNewIn(channel), "", n)
	if err != nil {
		return nil, err
	}
	out := make([]uint64, len(tails))
	for i, tail := range tails {
		if out[i], err = strconv.ParseUint(tail, 16, 64); err != nil {
			return nil, fmt.Errorf("catalog key %q: %w", prefixNewIn(channel)+tail, err)
		}
	}
	return out, nil
}

// Waits says why nobody takes a job that waits for a node, and nothing when somebody would.
func (v View) Waits(j *Job) (string, error) {
	if !j.place().waits {
		return "", nil
	}
	served, err := v.Serving(j.Channel)
	if err != nil || served {
		return "", err
	}
	return "job " + strconv.FormatUint(j.ID, 10) + " waits: no node that crawls serves " + channelWords(j.Channel), nil
}

func channelWords(channel string) string {
	if channel == "" {
		return "jobs without a channel"
	}
	return "channel " + channel
}

// InChannel returns a job that waits in the channel, 0 if there is none.
func InChannel(s *agree.State, channel string) (uint64, error) {
	tails, err := agree.Tails(s, prefixWaitingFor(channel), "", 1)
	if err != nil || len(tails) == 0 {
		return 0, err
	}
	return strconv.ParseUint(tails[0], 16, 64)
}
