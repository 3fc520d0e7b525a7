// Package catalog is what the nodes of a cluster agree on: who is a member, which replica keeps
// which shards where, which files the archive holds and how their copies stand, which jobs there
// are and who runs them, and who may do what. Commands change it; Apply carries them out over a
// key-value transaction that the caller commits; View answers questions over the same keys.
//
// The work is done in the rooms below: agree is the engine, and cluster, files, jobs and people are
// the subjects, each with its commands, keys, values, checks and view. Here are the table of
// commands, the acts that span subjects, and, in the files names_*.go, the subjects' names for the
// rooms above, which need not know in which subject something is.
//
// The package is pure and deterministic: the same commands in the same order give the same bytes
// on every node. It knows no clock (a command carries the time its leader stamped), no randomness
// and no I/O but the transaction it is handed. A command that cannot be carried out is answered
// with a Refusal and changes nothing but the request window; only the transaction can fail.
package catalog
