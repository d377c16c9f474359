package metal

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/equinix/equinix-sdk-go/services/metalv1"
)

// apiError is an answer of the API that says no.
type apiError struct {
	status   int
	messages []string
}

func (e *apiError) Error() string {
	return fmt.Sprintf("HTTP %d: %s", e.status, strings.Join(e.messages, ", "))
}

// body is the JSON document of the error. The API puts the one message about
// a bad token into "error" and everything else into "errors".
func (e *apiError) body() metalv1.Error {
	if e.status == http.StatusUnauthorized && len(e.messages) > 0 {
		return metalv1.Error{Error: &e.messages[0]}
	}
	return metalv1.Error{Errors: e.messages}
}

// unprocessable says that the request breaks a rule.
func unprocessable(format string, args ...any) error {
	return &apiError{status: http.StatusUnprocessableEntity, messages: []string{fmt.Sprintf(format, args...)}}
}

// refuse returns one answer with all messages, or nil if there are none.
func refuse(messages []string) error {
	if len(messages) == 0 {
		return nil
	}
	return &apiError{status: http.StatusUnprocessableEntity, messages: messages}
}

func notFound() error {
	return &apiError{status: http.StatusNotFound, messages: []string{"Not found"}}
}

func forbidden(what string) error {
	return &apiError{status: http.StatusForbidden, messages: []string{"You are not authorized to view this " + what}}
}

func unauthorized() error {
	return &apiError{status: http.StatusUnauthorized, messages: []string{"Invalid authentication token"}}
}

func malformed(err error) error {
	return &apiError{status: http.StatusBadRequest, messages: []string{"Malformed JSON: " + err.Error()}}
}
