package files

import (
	"crypto/sha256"
	"strconv"

	"holdfast/catalog/agree"
)

// Root proves a set of files: their number, their bytes, and the sum modulo 2^256 of
// SHA-256("name\x00size\x00sha256 in hex") over them. Roots of disjoint sets add up, so that a root is kept
// up to date at each change and those of a replica's collections are summed when they are compared.
type Root struct {
	Files int64        `json:"files"`
	Bytes int64        `json:"bytes"`
	Sum   agree.Digest `json:"sum,omitzero"`
}

// RootOf returns the root of one file.
func RootOf(name FileName, size int64, digest agree.Digest) Root {
	text := make([]byte, 0, len(name)+90)
	text = append(append(text, name...), 0)
	text = append(strconv.AppendInt(text, size, 10), 0)
	text = append(text, digest.String()...)
	return Root{Files: 1, Bytes: size, Sum: sha256.Sum256(text)}
}

// Add returns the root of the two sets together; they must have no file in common.
func (r Root) Add(other Root) Root {
	sum := Root{Files: r.Files + other.Files, Bytes: r.Bytes + other.Bytes}
	carry := 0
	for i := len(sum.Sum) - 1; i >= 0; i-- {
		carry += int(r.Sum[i]) + int(other.Sum[i])
		sum.Sum[i] = byte(carry)
		carry >>= 8
	}
	return sum
}

// Sub returns the root of the set without the other, which must be a part of it.
func (r Root) Sub(other Root) Root {
	sum := Root{Files: r.Files - other.Files, Bytes: r.Bytes - other.Bytes}
	borrow := 0
	for i := len(sum.Sum) - 1; i >= 0; i-- {
		borrow += int(r.Sum[i]) - int(other.Sum[i])
		sum.Sum[i] = byte(borrow)
		borrow >>= 8
	}
	return sum
}
