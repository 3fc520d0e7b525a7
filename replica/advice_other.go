//go:build !linux

package replica

import "os"

func adviseCold(*os.File)                {}
func adviseDone(*os.File)                {}
func adviseWrite(*os.File, int64, int64) {}
