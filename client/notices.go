package client

import (
	"context"
	"net/http"

	"holdfast/api/wire"
)

// Acknowledge says that the caller knows of an alert, until a time or until it is over.
func (c *Client) Acknowledge(ctx context.Context, in wire.AcknowledgeRequest) (wire.Acknowledgement, error) {
	return post[wire.Acknowledgement](ctx, c, in, "alerts", "acknowledge")
}

// Withdraw takes it back that an alert is acknowledged.
func (c *Client) Withdraw(ctx context.Context, in wire.AlertRef) error {
	return c.call(ctx, http.MethodPost, in, nil, nil, "alerts", "withdraw")
}

// Notices returns what there is to do with the addresses that notices of alerts go to.
func (c *Client) Notices() Notices { return Notices{c} }

// Notices are the addresses that notices of alerts go to.
type Notices struct{ c *Client }

// List lists the addresses by name.
func (n Notices) List(ctx context.Context) ([]wire.NoticeAddress, error) {
	page, err := get[wire.Page[wire.NoticeAddress]](ctx, n.c, "notice-addresses")
	return page.Items, err
}

// Show shows an address, and how its notices fare.
func (n Notices) Show(ctx context.Context, name string) (wire.NoticeAddress, error) {
	return get[wire.NoticeAddress](ctx, n.c, "notice-addresses", name)
}

// Add adds an address. The answer for a webhook has its secret, which is not shown again.
func (n Notices) Add(ctx context.Context, in wire.NoticeAddressRequest) (wire.NoticeAddress, error) {
	return post[wire.NoticeAddress](ctx, n.c, in, "notice-addresses")
}

// Set changes an address.
func (n Notices) Set(ctx context.Context, name string, in wire.NoticeAddressChange) (wire.NoticeAddress, error) {
	return send[wire.NoticeAddress](ctx, n.c, http.MethodPatch, in, "notice-addresses", name)
}

// Remove removes an address, with the notices that are on their way there.
func (n Notices) Remove(ctx context.Context, name string) error {
	return n.c.call(ctx, http.MethodDelete, nil, nil, nil, "notice-addresses", name)
}

// Test sends a test notice and waits for its outcome, up to half a minute.
func (n Notices) Test(ctx context.Context, name string) (wire.NoticeTest, error) {
	return post[wire.NoticeTest](ctx, n.c, nil, "notice-addresses", name, "test")
}
