package bucket

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	gcs "cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"

	"github.com/hudifs/hudifs/internal/storage"
)

// provider is what differs between providers behind the portable interface. A nil function means that it cannot.
type provider struct {
	name       string
	canMatch   bool                                       // can replace one version
	rewrites   func(key string) bool                      // gocloud.dev stores key under another name
	matchWrite func(as func(any) bool, etag string) error // makes a write replace that version only
	matchRead  func(as func(any) bool, etag string) error // makes a read be of that version
	listAfter  func(as func(any) bool, key string)        // starts a listing at or after key
	attrETag   func(a *blob.Attributes) string            // the version of described objects
	listETag   func(o *blob.ListObject) string            // the same for listed ones
	readETag   func(r *blob.Reader) string                // the same for bytes being read; not every imitation of S3 heeds matchRead
}

// backendOf picks the backend by the client behind b, and says what differs between providers.
func backendOf(b *blob.Bucket) (backend, provider) {
	var s3c *s3.Client
	var gcsc *gcs.Client
	var azc *container.Client
	p := provider{
		name:     "mem",
		attrETag: func(a *blob.Attributes) string { return bareETag(a.ETag) },
		listETag: func(*blob.ListObject) string { return "" },
		readETag: func(*blob.Reader) string { return "" },
	}
	switch {
	case b.As(&s3c):
		p = s3Provider()
	case b.As(&gcsc):
		p = gcsProvider()
	case b.As(&azc):
		p = azureProvider()
		return &azure{b: b, c: azc}, p
	}
	p.canMatch = p.matchWrite != nil
	return &portable{b: b, p: p}, p
}

// Headers quote etags, listings of some providers do not.
func bareETag(etag string) string { return strings.Trim(strings.TrimPrefix(etag, "W/"), `"`) }
func quoted(etag string) *string  { q := `"` + etag + `"`; return &q }

func unknownType(what string) error {
	return fmt.Errorf("%s: the driver does not hand out the type that this version of the program knows", what)
}

// escapes matches what gocloud.dev would take for its own escape and write differently.
var escapes = regexp.MustCompile(`__0x[0-9a-fA-F]+__`)

func s3Provider() provider {
	return provider{
		name: "s3",
		rewrites: func(key string) bool {
			return escapes.MatchString(key) || strings.Contains(key, "../") || strings.ContainsFunc(key, func(r rune) bool { return r < 32 })
		},
		matchWrite: func(as func(any) bool, etag string) error {
			var in *transfermanager.UploadObjectInput
			if !as(&in) {
				return unknownType("conditional write")
			}
			in.IfMatch = quoted(etag)
			return nil
		},
		matchRead: func(as func(any) bool, etag string) error {
			var in *s3.GetObjectInput
			if !as(&in) {
				return unknownType("conditional read")
			}
			in.IfMatch = quoted(etag)
			return nil
		},
		listAfter: func(as func(any) bool, key string) {
			var in *s3.ListObjectsV2Input
			if as(&in) {
				in.StartAfter = &key
			}
		},
		attrETag: func(a *blob.Attributes) string { return bareETag(a.ETag) },
		listETag: func(o *blob.ListObject) string {
			var obj s3types.Object
			if !o.As(&obj) || obj.ETag == nil {
				return ""
			}
			return bareETag(*obj.ETag)
		},
		readETag: func(r *blob.Reader) string {
			var out s3.GetObjectOutput
			if !r.As(&out) || out.ETag == nil {
				return ""
			}
			return bareETag(*out.ETag)
		},
	}
}

// gcsProvider names versions by generation: that is what its conditions take.
func gcsProvider() provider {
	generation := func(as func(any) bool, etag string, on func(h *gcs.ObjectHandle, gen int64) *gcs.ObjectHandle) error {
		var h **gcs.ObjectHandle
		if !as(&h) {
			return unknownType("conditional request")
		}
		gen, err := strconv.ParseInt(etag, 10, 64)
		if err != nil {
			return fmt.Errorf("version %q is no generation: %w", etag, storage.ErrPrecondition)
		}
		*h = on(*h, gen)
		return nil
	}
	version := func(as func(any) bool) string {
		var a gcs.ObjectAttrs
		if !as(&a) {
			return ""
		}
		return strconv.FormatInt(a.Generation, 10)
	}
	return provider{
		name: "gs",
		rewrites: func(key string) bool {
			return escapes.MatchString(key) || strings.Contains(key, "../") || strings.ContainsAny(key, "\r\n")
		},
		matchWrite: func(as func(any) bool, etag string) error {
			return generation(as, etag, func(h *gcs.ObjectHandle, gen int64) *gcs.ObjectHandle {
				return h.If(gcs.Conditions{GenerationMatch: gen})
			})
		},
		matchRead: func(as func(any) bool, etag string) error {
			return generation(as, etag, func(h *gcs.ObjectHandle, gen int64) *gcs.ObjectHandle { return h.Generation(gen) })
		},
		listAfter: func(as func(any) bool, key string) {
			var q *gcs.Query
			if as(&q) {
				q.StartOffset = key
			}
		},
		attrETag: func(a *blob.Attributes) string { return version(a.As) },
		listETag: func(o *blob.ListObject) string { return version(o.As) },
		readETag: func(r *blob.Reader) string {
			var in *gcs.Reader
			if !r.As(&in) {
				return ""
			}
			return strconv.FormatInt(in.Attrs.Generation, 10)
		},
	}
}

// azureProvider has only what is not done by its own backend.
func azureProvider() provider {
	return provider{
		name:     "azblob",
		canMatch: true,
		rewrites: func(key string) bool {
			// The service takes a backslash for a slash, and its listings are XML, which cannot hold control characters. A dot
			// at the end of an element is dropped.
			return strings.Contains(key, "./") || strings.HasSuffix(key, ".") || strings.ContainsFunc(key, func(r rune) bool { return r < 32 || r == 127 || r == '\\' })
		},
	}
}
