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
			"d203cd36515c59f71ded6dd5df6bc73cb1a6fbfd02f49af152a98e2177139c86",
			"979276f4541350e0a3ce368cf964ecb37270edadd30ea57786b65e9d3ade9d15"},
		"runs": {(*golden).runs,
			"cfd169219a71bdcd70c42dce146ee1387914f956804567bd083e3b8cb3747a02",
			"9041e0004bf71442b3a6ca58183bc8d0bff6114f57b72852c11b6fdd31ce6c44"},
		"history": {(*golden).history,
			"00ddf69ca1aedc9abdbdc62056e0b73beb9d7dea3581459619ca4f2c99070b0f",
			"657c43a56316871b6a017d212ee9eba7265dc3c070ef47a4a2d656608f011ae7"},
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
