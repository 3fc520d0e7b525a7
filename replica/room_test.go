package replica

import (
	"testing"

	"holdfast/catalog"
)

func TestAFullDiskStopsOnlyFilesThatAreTooLarge(t *testing.T) {
	t.Parallel()
	p := newPulls()
	begins := func(name string, size int64) bool {
		if p.start(catalog.File{Name: catalog.FileName(name), Size: size}, false) == nil {
			return false
		}
		p.end(catalog.FileName(name))
		return true
	}
	p.fullDisk(100)
	if begins("as large", 100) || begins("larger", 101) || !begins("smaller", 99) {
		t.Error("after a file of 100 bytes had no room")
	}
	p.roomAgain(50)
	if begins("as large", 100) {
		t.Error("room for 50 bytes says nothing about 100")
	}
	p.fullDisk(60)
	p.fullDisk(80)
	if begins("between", 70) || !begins("smaller", 59) {
		t.Error("after a file of 60 bytes had no room either")
	}
	p.roomAgain(60)
	if !begins("larger", 101) {
		t.Error("after there was room for the smallest that had none")
	}
}
