// Package node puts the rooms together: it reads the configuration, starts and stops the parts of a node in
// order, connects mechanisms that do not know each other, and carries out what duty decides. It is the only
// room where mechanisms meet, and decides nothing itself.
package node
