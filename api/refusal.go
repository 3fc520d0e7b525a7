package api

import (
	"net/http"
	"reflect"
	"regexp"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
)

// Refusals are data as well as sentences: what is wrong with a field has a code and parameters, so that a form can say
// it beside the field, in the reader's language. The checks of the framework and of the rooms beneath give sentences of
// few forms, from which code and parameters are read here. A sentence of another form has the code FieldRefused.

// coded is the problem as it is sent.
type coded struct {
	Type   string              `json:"type,omitempty"`
	Title  string              `json:"title,omitempty"`
	Status int                 `json:"status,omitempty"`
	Detail string              `json:"detail,omitempty"`
	Errors []wire.ProblemField `json:"errors,omitempty"`
}

// codeFields is the transformer that gives the fields of a problem their codes.
func codeFields(_ huma.Context, _ string, v any) (any, error) {
	model, is := v.(*huma.ErrorModel)
	if !is {
		return v, nil
	}
	return codedOf(model), nil
}

// codedOf gives the fields of a problem their codes, and finds the fields that a sentence of ours names.
func codedOf(model *huma.ErrorModel) *coded {
	out := &coded{Type: model.Type, Title: model.Title, Status: model.Status, Detail: model.Detail}
	for _, e := range model.Errors {
		field := wire.ProblemField{Message: e.Message, Location: e.Location, Value: e.Value}
		if e.Location != "" && e.Location != wire.ConfirmField && e.Location != wire.ApprovalField {
			field.Code, field.Params = codeOfMessage(e.Message)
		}
		out.Errors = append(out.Errors, field)
	}
	if len(model.Errors) == 0 && model.Status == http.StatusUnprocessableEntity {
		out.Errors = fieldsOfDetail(model.Detail)
	}
	return out
}

// form is a form of a sentence: an expression whose groups are parameters.
type form struct {
	code   wire.FieldCode
	match  *regexp.Regexp
	params []string
}

// forms are those of the framework's checks.
func forms() []form {
	return []form{
		{wire.FieldUnknown, regexp.MustCompile(`^unexpected property$`), nil},
		{wire.FieldRequired, regexp.MustCompile(`^expected required property (\S+) to be present`),
			[]string{"property"}},
		{wire.FieldRequired, regexp.MustCompile(`^required \w+ parameter is missing`), nil},
		{wire.FieldTooShort, regexp.MustCompile(`^expected length >= (\d+)`), []string{"min"}},
		{wire.FieldTooLong, regexp.MustCompile(`^expected length <= (\d+)`), []string{"max"}},
		{wire.FieldTooFew, regexp.MustCompile(`^expected array length >= (\d+)`), []string{"min"}},
		{wire.FieldTooMany, regexp.MustCompile(`^expected array length <= (\d+)`), []string{"max"}},
		{wire.FieldTooSmall, regexp.MustCompile(`^expected number >=? (\S+)`), []string{"min"}},
		{wire.FieldTooLarge, regexp.MustCompile(`^expected number <=? (\S+)`), []string{"max"}},
		{wire.FieldNotOneOf, regexp.MustCompile(`^expected value to be one of "(.*)"$`), []string{"allowed"}},
		{wire.FieldTwice, regexp.MustCompile(`^expected array items to be unique`), nil},
		{wire.FieldFormat, regexp.MustCompile(`^expected string to match pattern (.+)$`), []string{"want"}},
		{wire.FieldFormat, regexp.MustCompile(`^expected string to be (.+)$`), []string{"want"}},
		{wire.FieldType, regexp.MustCompile(`^expected (\w+)`), []string{"want"}},
	}
}

// codeOfMessage reads what a check of the framework says.
func codeOfMessage(message string) (wire.FieldCode, map[string]string) {
	for _, f := range forms() {
		if found := f.match.FindStringSubmatch(message); found != nil {
			return f.code, paramsOf(f.params, found[1:])
		}
	}
	return wire.FieldRefused, nil
}

func paramsOf(names, values []string) map[string]string {
	if len(names) == 0 {
		return nil
	}
	params := map[string]string{}
	for i, name := range names {
		params[name] = values[i]
	}
	return params
}

// fieldsOfDetail finds the fields that a refusal of ours names: each line that begins with a field's name and a colon.
func fieldsOfDetail(detail string) (fields []wire.ProblemField) {
	const word = `[A-Za-z0-9_]*(?:\[\d+\])?`
	named := regexp.MustCompile(`^(?:not valid: )?([a-z]` + word + `(?:\.[A-Za-z0-9_]` + word + `)*): (.+)$`)
	allowed := regexp.MustCompile(`^given (.+), allowed: (.+)$`)
	for line := range strings.SplitSeq(detail, "\n") {
		found := named.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		field := wire.ProblemField{Location: "body." + found[1], Message: found[2], Code: wire.FieldRefused}
		if given := allowed.FindStringSubmatch(found[2]); given != nil {
			field.Code = wire.FieldNotAllowed
			field.Params = paramsOf([]string{"given", "allowed"}, given[1:])
		}
		fields = append(fields, field)
	}
	return fields
}

// describeProblems has the description tell problems as they are sent.
func describeProblems(schemas huma.Registry) {
	schemas.RegisterTypeAlias(reflect.TypeFor[huma.ErrorDetail](), reflect.TypeFor[wire.ProblemField]())
}
