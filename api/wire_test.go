package api

import (
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
)

// What the API's JSON calls states, kinds, roles and refusals is what the catalog calls them.
func TestTheWordsOnTheWireAreTheCatalogs(t *testing.T) {
	for _, tt := range []struct{ wire, catalog string }{
		{string(wire.JobNew), string(catalog.JobNew)}, {string(wire.JobSubmitted), string(catalog.JobSubmitted)},
		{string(wire.JobStarted), string(catalog.JobStarted)}, {string(wire.JobDone), string(catalog.JobDone)},
		{string(wire.JobFailed), string(catalog.JobFailed)}, {string(wire.JobResubmitted), string(catalog.JobResubmitted)},
		{string(wire.JobFailedRejected), string(catalog.JobFailedRejected)},
		{string(wire.WishPause), string(catalog.WishPause)}, {string(wire.WishStop), string(catalog.WishStop)},
		{string(wire.UploadStarted), string(catalog.UploadStarted)},
		{string(wire.UploadCompleted), string(catalog.UploadCompleted)}, {string(wire.UploadFailed), string(catalog.UploadFailed)},
		{string(wire.NoFileListStatus), string(catalog.NoFileListStatus)}, {string(wire.FileListOK), string(catalog.FileListOK)},
		{string(wire.FileListMissing), string(catalog.FileListMissing)}, {string(wire.ChecksumUnknown), string(catalog.ChecksumUnknown)},
		{string(wire.ChecksumOK), string(catalog.ChecksumOK)}, {string(wire.ChecksumCorrupt), string(catalog.ChecksumCorrupt)},
		{string(wire.Bitarchive), string(catalog.Bitarchive)}, {string(wire.Checksum), string(catalog.Checksum)},
		{string(wire.RoleReader), string(catalog.RoleReader)}, {string(wire.RoleCurator), string(catalog.RoleCurator)},
		{string(wire.RoleOperator), string(catalog.RoleOperator)}, {string(wire.RoleAdmin), string(catalog.RoleAdmin)},
		{string(wire.Invited), string(catalog.Invited)}, {string(wire.Active), string(catalog.Active)},
		{string(wire.Disabled), string(catalog.Disabled)},
		{string(wire.CodeInvalid), string(catalog.Invalid)}, {string(wire.CodeNotFound), string(catalog.NotFound)},
		{string(wire.CodeConflict), string(catalog.Conflict)}, {string(wire.CodeDenied), string(catalog.Denied)},
		{string(wire.CodeUnsafe), string(catalog.Unsafe)}, {string(wire.CodeOutcomeUnknown), string(catalog.OutcomeUnknown)},
		{string(wire.CodeUnsupported), string(catalog.Unsupported)},
	} {
		if tt.wire != tt.catalog {
			t.Errorf("%q is not %q", tt.wire, tt.catalog)
		}
	}
	if wire.Shards != catalog.Shards {
		t.Errorf("%d shards, want %d", wire.Shards, catalog.Shards)
	}
}
