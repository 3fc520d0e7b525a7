package node

import (
	"context"
	"strconv"

	"holdfast/catalog"
	"holdfast/internal/trace"
)

// wayOf notes that something is done with a file: all that the nodes do with it is one trace.
func wayOf(to *trace.Tracer) func(context.Context, string, catalog.FileName) func(error) {
	return func(ctx context.Context, step string, name catalog.FileName) func(error) {
		_, span := to.Of(ctx, "file", string(name), "file "+step,
			trace.Attribute{Key: "holdfast.file", Value: string(name)})
		return span.End
	}
}

// beginJob notes that an attempt at a job begins: all attempts are one trace, on whichever nodes.
func beginJob(to *trace.Tracer) func(context.Context, catalog.Job) (context.Context, func(error)) {
	return func(ctx context.Context, job catalog.Job) (context.Context, func(error)) {
		id := strconv.FormatUint(job.ID, 10)
		ctx, span := to.Of(ctx, "job", id, "job", trace.Attribute{Key: "holdfast.job", Value: id},
			trace.Attribute{Key: "holdfast.attempt", Value: job.Attempt})
		return ctx, span.End
	}
}
