package catalog_test

import (
	"encoding/json"
	"testing"

	"holdfast/catalog"
)

// TestStoredBytesOfLevel4 plays fixed lists of commands at level 4, one for each subject that came with it. A change of
// what is stored or answered is a change of what level 4 means; after its release it needs a level of its own.
func TestStoredBytesOfLevel4(t *testing.T) {
	for name, of := range map[string]struct {
		play             func(*golden)
		stored, answered string
	}{
		"domains": {(*golden).domains,
			"f478b1fff7852a57b1a6c47ecb96fa625862f64a19b21659e51651e286c27eed",
			"55679d4ac4adb35cb8656fbd0a2609b569e9d37501e31247157492ea68e89d9f"},
		"harvests": {(*golden).harvests,
			"0a73b0d149013b8fc99474bb6f91543a4540ce61f69cd8e4f4b5fc85c5752404",
			"979276f4541350e0a3ce368cf964ecb37270edadd30ea57786b65e9d3ade9d15"},
		"runs": {(*golden).runs,
			"41d0ac56dccec9a2cda15203c91abfb6f41ed1ddd21ff8892c8298aa69a0066b",
			"4bf160dab6d8ffc0540a79a16d23aec4ebbfd122611c4a4866ce39210e075d2b"},
		"history": {(*golden).history,
			"c44aebab8cabd8b3fc8c69ac7b1cebd3861edeee61b3bd0524d92591b61eb779",
			"2d79fc248f598999e8cd5c3ec595cb7a839f4633b98c4a717c72bcb327b6241f"},
	} {
		t.Run(name, func(t *testing.T) {
			g := &golden{cluster: emptyCluster(t), t: t}
			g.raiseTo(t, 4)
			of.play(g)
			for _, data := range g.log[len(g.log)/2:] { // retries
				res, err := catalog.Apply(g, g.index, data)
				if err != nil {
					t.Fatal(err)
				}
				g.answers = append(g.answers, res)
			}
			text, err := json.Marshal(g.answers)
			if err != nil {
				t.Fatal(err)
			}
			if got := g.sum().String(); got != of.stored {
				t.Errorf("the stored state has the digest %s", got)
			}
			if got := digest(string(text)).String(); got != of.answered {
				t.Errorf("the answers have the digest %s", got)
			}
			refused := 0
			for _, a := range g.answers {
				if a.Refusal != nil {
					refused++
				}
			}
			if 2*refused > len(g.answers) {
				t.Errorf("%d of %d commands are refused", refused, len(g.answers))
			}
		})
	}
}
