package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"syscall"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"gocloud.dev/gcerrors"
	"google.golang.org/api/googleapi"

	"github.com/hudifs/hudifs/internal/storage"
)

// kind says what an operation asked for, which decides what an answer means.
type kind uint8

const (
	read        kind = iota
	readVersion      // reads a named version
	change           // changes what is stored, whatever is there
	create           // creates what must not be there
	replace          // replaces a named version
)

// failed maps a provider's error to the errors of the contract.
func (s *Store) failed(ctx context.Context, k kind, op, path string, err error) error {
	changes := k >= change
	if cerr := ctx.Err(); cerr != nil {
		if changes {
			return fmt.Errorf("%s %s: %w: %w", op, path, storage.ErrAmbiguous, cerr)
		}
		return fmt.Errorf("%s %s: %w", op, path, cerr)
	}
	switch s.b.code(err) {
	case gcerrors.NotFound:
		if k == replace {
			return fmt.Errorf("%s %s: it is gone: %w (%w)", op, path, storage.ErrPrecondition, err)
		}
		return fmt.Errorf("%s %s: %w (%w)", op, path, fs.ErrNotExist, err)
	case gcerrors.FailedPrecondition, gcerrors.AlreadyExists:
		switch k {
		case create:
			return fmt.Errorf("%s %s: %w", op, path, storage.ErrExists)
		case replace:
			return fmt.Errorf("%s %s: %w", op, path, storage.ErrPrecondition)
		case readVersion:
			return fmt.Errorf("%s %s: it was replaced while it was open: %w", op, path, storage.ErrPrecondition)
		}
	case gcerrors.PermissionDenied:
		return fmt.Errorf("%s %s: %w (%w)", op, path, fs.ErrPermission, err)
	case gcerrors.InvalidArgument:
		return fmt.Errorf("%s %s: %w (%w)", op, path, fs.ErrInvalid, err)
	}
	switch temporary(err) {
	case refused:
		return fmt.Errorf("%s %s: %w: %w", op, path, storage.ErrTransient, err)
	case cut:
		if changes {
			return fmt.Errorf("%s %s: %w: %w", op, path, storage.ErrAmbiguous, err)
		}
		return fmt.Errorf("%s %s: %w: %w", op, path, storage.ErrTransient, err)
	}
	return fmt.Errorf("%s %s: %w", op, path, err)
}

// weather is how a failure bears on trying again.
type weather uint8

const (
	final   weather = iota // asking again gives the same
	refused                // nothing was done; ask later
	cut                    // no answer, or one that does not tell whether it was done
)

// refusals are error codes of providers that turn a request away unread.
var refusals = map[string]bool{
	"SlowDown": true, "Throttling": true, "ThrottlingException": true, "RequestLimitExceeded": true, "TooManyRequests": true,
	"ServerBusy": true, "ServiceUnavailable": true, "OperationAborted": true,
}

func temporary(err error) weather {
	code, status := answer(err)
	switch {
	case refusals[code], status == http.StatusServiceUnavailable, status == http.StatusTooManyRequests:
		return refused
	case code == conflictCode, status >= 500, status == http.StatusRequestTimeout, code == "RequestTimeout":
		return cut
	case status >= 400:
		return final
	}
	// No answer at all.
	var op *net.OpError
	var dns *net.DNSError
	var ne net.Error
	switch {
	case errors.As(err, &dns), errors.As(err, &op) && op.Op == "dial", errors.Is(err, syscall.ECONNREFUSED):
		return refused
	case errors.As(err, &ne), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, context.DeadlineExceeded):
		return cut
	}
	return final
}

// conflictCode is S3's answer when two conditional writes of one key meet. gocloud.dev does not know it.
const conflictCode = "ConditionalRequestConflict"

func isConflict(err error) bool {
	code, _ := answer(err)
	return code == conflictCode
}

// answer finds the provider's error code and HTTP status; "" and 0 when there was no answer.
func answer(err error) (code string, status int) {
	var coded interface{ ErrorCode() string } // AWS
	if errors.As(err, &coded) {
		code = coded.ErrorCode()
	}
	var resp interface{ HTTPStatusCode() int } // AWS
	var g *googleapi.Error
	var az *azcore.ResponseError
	switch {
	case errors.As(err, &resp):
		status = resp.HTTPStatusCode()
	case errors.As(err, &g):
		status = g.Code
	case errors.As(err, &az):
		code, status = az.ErrorCode, az.StatusCode
	}
	return code, status
}
