package frontier

// cache holds the records of queues that are not active: the last that were used, in two generations. Full, the young
// become the old, and the old drop out.
type cache struct {
	young, old map[string]*queue
}

// generation is how many queues one holds.
const generation = 1 << 15

func newCache() cache { return cache{young: map[string]*queue{}, old: map[string]*queue{}} }

// get returns a queue, or nil.
func (c *cache) get(name string) *queue {
	if q := c.young[name]; q != nil {
		return q
	}
	q := c.old[name]
	if q != nil && len(c.young) < generation {
		delete(c.old, name)
		c.young[name] = q
	}
	return q
}

// put adds a queue and returns those that drop out.
func (c *cache) put(q *queue) map[string]*queue {
	var dropped map[string]*queue
	if len(c.young) >= generation {
		dropped, c.old, c.young = c.old, c.young, make(map[string]*queue, generation)
	}
	c.young[q.name] = q
	return dropped
}

func (c *cache) remove(name string) {
	delete(c.young, name)
	delete(c.old, name)
}

// peek is get for one who only looks.
func (c *cache) peek(name string) *queue {
	if q := c.young[name]; q != nil {
		return q
	}
	return c.old[name]
}
