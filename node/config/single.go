package config

import (
	"fmt"
	"path/filepath"
)

// Single returns the configuration of an archive of one node with all defaults, its folder being data.
func Single(data string, listen Listen) (Config, error) {
	text := fmt.Sprintf("cluster = \"local\"\nprofile = \"local\"\ndata = %q\npeer = %q\napi = %q\naccess = %q\n"+
		"reserve = \"192MiB\"\n"+
		"[[replica]]\nname = \"local\"\nkind = \"bitarchive\"\n[[node]]\nname = \"local\"\nreplica = \"local\"\n",
		data, listen.Peer, listen.API, listen.Access)
	f, err := Parse(filepath.Join(data, "cluster.toml"), text)
	if err != nil {
		return Config{}, err
	}
	return f.Node("local")
}
