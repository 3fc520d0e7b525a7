package agree

// The engine's own keys, in the order of doc/format/catalog.md. No key begins with a byte below 'a' or with "raft":
// those are left to the store of the state.
const (
	PrefixCluster = "cluster"    // Cluster: one key
	keyClock      = "clock"      // Time
	keyTrail      = "trailhead"  // head
	PrefixTrail   = "trail/"     // <sequence>: Event
	prefixWindows = "window/"    // <node>: window
	prefixAnswers = "answer/"    // <node>/<slot>: answer
	prefixOnce    = "once/"      // <request>: done
	prefixOnceAt  = "onceat/"    // <time>/<request>: a mark, to be found by age
	keyRebuilding = "rebuilding" // a mark, while the state is made again from folders
)

func keyEvent(seq uint64) string          { return PrefixTrail + Hex(seq) }
func keyOnce(request string) string       { return prefixOnce + request }
func keyWindow(n NodeID) string           { return prefixWindows + string(n) }
func prefixAnswer(node NodeID) string     { return prefixAnswers + string(node) + "/" }
func keyAnswer(n NodeID, s uint64) string { return prefixAnswer(n) + HexDigits(s%WindowSize, 3) }
func keyOnceAt(at Time, request string) string {
	return prefixOnceAt + Hex(uint64(at)) + "/" + request
}
