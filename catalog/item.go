package catalog

import "holdfast/catalog/agree"

// item makes an item's result of a handler's error: a refusal is the item's, another error the command's.
func item(name FileName, err error) (ItemResult, error) {
	if r, ok := err.(*Refusal); ok {
		return ItemResult{Name: FileName(agree.Clip(string(name), 200)), Refusal: r}, nil
	}
	return ItemResult{Name: name}, err
}
