package agree

// staged are the changes of one command, by key, in the order in which the keys were first changed. Most commands
// make few: those are searched one by one.
type staged struct {
	all    []stagedChange
	places map[string]int // of the changes, when there are more than fewChanges
}

type stagedChange struct {
	key   string
	value []byte // nil: deleted
}

const fewChanges = 16

// get returns the key's new value, nil when it is deleted, and whether it is changed at all.
func (s *staged) get(key []byte) (value []byte, changed bool) {
	if s.places != nil {
		i, ok := s.places[string(key)]
		if !ok {
			return nil, false
		}
		return s.all[i].value, true
	}
	for i := range s.all {
		if s.all[i].key == string(key) {
			return s.all[i].value, true
		}
	}
	return nil, false
}

// put stages a value, nil to delete the key.
func (s *staged) put(key string, value []byte) {
	if s.places != nil {
		if i, ok := s.places[key]; ok {
			s.all[i].value = value
			return
		}
		s.places[key] = len(s.all)
	} else {
		for i := range s.all {
			if s.all[i].key == key {
				s.all[i].value = value
				return
			}
		}
	}
	if s.all == nil {
		s.all = make([]stagedChange, 0, fewChanges)
	}
	s.all = append(s.all, stagedChange{key, value})
	if s.places == nil && len(s.all) > fewChanges {
		s.places = make(map[string]int, 4*fewChanges)
		for i := range s.all {
			s.places[s.all[i].key] = i
		}
	}
}

// size returns the bytes of keys and values.
func (s *staged) size() int {
	total := 0
	for i := range s.all {
		total += len(s.all[i].key) + len(s.all[i].value)
	}
	return total
}

func (s *staged) clear() { *s = staged{} }
