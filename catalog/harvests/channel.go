package harvests

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
	"holdfast/catalog/jobs"
)

func createChannel(s *agree.State, b *ChannelCreation) (any, error) {
	if err := cluster.CheckChannel(b.Name); err != nil {
		return nil, err
	}
	if err := checkComment(b.Comment); err != nil {
		return nil, err
	}
	if _, there, err := channel(s, b.Name); err != nil || there {
		return nil, agree.OrConflict(err, "there is a channel %s already", b.Name)
	}
	c := Channel{Name: b.Name, Snapshot: b.Snapshot, Comment: b.Comment, Created: s.At, Changed: s.At, By: s.Actor}
	if err := s.Set(keyChannel(c.Name), &c); err != nil {
		return nil, err
	}
	return &c, s.Event(CreateChannel, c.Name, "snapshot=%t", c.Snapshot)
}

func setChannel(s *agree.State, b *ChannelChange) (any, error) {
	if err := checkComment(b.Comment); err != nil {
		return nil, err
	}
	c, err := findChannel(s, b.Name)
	if err != nil || c.Comment == b.Comment {
		return &c, err
	}
	c.Comment, c.Changed, c.By = b.Comment, s.At, s.Actor
	if err := s.Set(keyChannel(c.Name), &c); err != nil {
		return nil, err
	}
	return &c, s.Event(SetChannel, c.Name, "comment=%s", agree.ClipReason(c.Comment))
}

// deleteChannel deletes a channel that is no default and that nothing is in.
func deleteChannel(s *agree.State, b *Ref) (any, error) {
	c, err := findChannel(s, b.Name)
	if err != nil {
		return nil, err
	}
	if c.Default() {
		return nil, agree.Refuse(agree.Unsafe, "channel %s is the default of its kind, and stays", c.Name)
	}
	if job, err := jobs.InChannel(s, c.Name); err != nil || job != 0 {
		return nil, agree.OrConflict(err, "channel %s is used: job %d waits in it", c.Name, job)
	}
	members, err := cluster.In(s).Members()
	if err != nil {
		return nil, err
	}
	for i := range members {
		if m := &members[i]; m.Serves(c.Name) {
			return nil, agree.Refuse(agree.Conflict,
				"channel %s is used: node %s serves it; take it out of channels in that node's cluster.toml first",
				c.Name, m.Name)
		}
	}
	s.Delete(keyChannel(c.Name))
	return nil, s.Event(DeleteChannel, c.Name, "snapshot=%t", c.Snapshot)
}

// findChannel returns the channel, or a refusal when there is none.
func findChannel(r agree.Reader, name string) (Channel, error) {
	c, there, err := channel(r, name)
	if err != nil || !there {
		return c, agree.OrNotFound(err, "no channel %q", agree.Clip(name, 64))
	}
	return c, nil
}

// channel returns the channel, and whether there is one: those that come with the system are there from the beginning.
func channel(r agree.Reader, name string) (Channel, bool, error) {
	c, there, err := agree.Get[Channel](r, keyChannel(name))
	if err == nil && !there && (name == Focused || name == Snapshot) {
		c, there = implied(name), true
	}
	return c, there, err
}

func implied(name string) Channel { return Channel{Name: name, Snapshot: name == Snapshot} }

// checkComment refuses what is too long for a comment.
func checkComment(text string) error {
	if len(text) > MaxComment {
		return agree.Refuse(agree.Invalid, "comment of %d bytes: at most %d", len(text), MaxComment)
	}
	return nil
}
