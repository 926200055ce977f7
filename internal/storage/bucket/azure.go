package bucket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azblobblob "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

const (
	azureBlock   = 8 << 20 // bytes of one block of an upload
	azureUploads = 4       // blocks of one upload under way
)

// azure is the backend of Azure Blob Storage through the client that gocloud.dev has opened. The portable interface would
// not do: it renames keys with "%", as the partition paths of many tables have, crashes when a streamed write fails, and shows
// the directories of accounts with a hierarchical namespace as objects.
type azure struct {
	b *blob.Bucket // owns the client
	c *container.Client
}

func (o *azure) close() error { return o.b.Close() }

// code knows the answers by their HTTP status, because some answers to HEAD have no other code.
func (o *azure) code(err error) gcerrors.ErrorCode {
	var re *azcore.ResponseError
	if !errors.As(err, &re) {
		return gcerrors.Unknown
	}
	switch {
	case re.StatusCode == http.StatusNotFound:
		return gcerrors.NotFound
	case re.StatusCode == http.StatusPreconditionFailed, bloberror.HasCode(err, bloberror.BlobAlreadyExists):
		return gcerrors.FailedPrecondition
	case re.StatusCode == http.StatusUnauthorized, re.StatusCode == http.StatusForbidden:
		return gcerrors.PermissionDenied
	}
	return gcerrors.Unknown
}

// errDirectory is a directory of a hierarchical namespace, which is no object.
var errDirectory = &azcore.ResponseError{StatusCode: http.StatusNotFound, ErrorCode: string(bloberror.BlobNotFound)}

// Metadata names come back in the spelling of HTTP headers.
func metadata(m map[string]*string, name string) string {
	for k, v := range m {
		if v != nil && strings.EqualFold(k, name) {
			return *v
		}
	}
	return ""
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func azureETag(e *azcore.ETag) string { return bareETag(string(deref(e))) }

func (o *azure) attributes(ctx context.Context, key string) (attrs, error) {
	p, err := o.c.NewBlobClient(key).GetProperties(ctx, nil)
	if err != nil {
		return attrs{}, err
	}
	if metadata(p.Metadata, "hdi_isfolder") == "true" {
		return attrs{}, errDirectory
	}
	return attrs{size: deref(p.ContentLength), modTime: deref(p.LastModified), etag: azureETag(p.ETag), id: metadata(p.Metadata, idKey)}, nil
}

func matching(etag string) *azblobblob.AccessConditions {
	e := azcore.ETag(`"` + etag + `"`)
	return &azblobblob.AccessConditions{ModifiedAccessConditions: &azblobblob.ModifiedAccessConditions{IfMatch: &e}}
}

func (o *azure) readAll(ctx context.Context, key string) ([]byte, error) {
	r, err := o.c.NewBlobClient(key).DownloadStream(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	if metadata(r.Metadata, "hdi_isfolder") == "true" {
		return nil, errDirectory
	}
	var buf bytes.Buffer
	n, err := buf.ReadFrom(r.Body)
	if err == nil && n != deref(r.ContentLength) {
		err = io.ErrUnexpectedEOF
	}
	return buf.Bytes(), err
}

func (o *azure) readRange(ctx context.Context, key string, want attrs, p []byte, off int64) (int, error) {
	r, err := o.c.NewBlobClient(key).DownloadStream(ctx, &azblobblob.DownloadStreamOptions{
		Range:            azblobblob.HTTPRange{Offset: off, Count: int64(len(p))},
		AccessConditions: matching(want.etag),
	})
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	if azureETag(r.ETag) != want.etag {
		return 0, errChanged
	}
	return io.ReadFull(r.Body, p)
}

func (o *azure) upload(ctx context.Context, key string, r io.Reader, id string, c condition) error {
	ct := contentType
	opts := &blockblob.UploadStreamOptions{
		BlockSize:   azureBlock,
		Concurrency: azureUploads,
		Metadata:    map[string]*string{idKey: &id},
		HTTPHeaders: &azblobblob.HTTPHeaders{BlobContentType: &ct},
	}
	switch {
	case c.etag != "":
		opts.AccessConditions = matching(c.etag)
	case c.absent:
		any := azcore.ETagAny
		opts.AccessConditions = &azblobblob.AccessConditions{ModifiedAccessConditions: &azblobblob.ModifiedAccessConditions{IfNoneMatch: &any}}
	}
	_, err := o.c.NewBlockBlobClient(key).UploadStream(ctx, r, opts)
	return err
}

func (o *azure) remove(ctx context.Context, key string) error {
	if _, err := o.attributes(ctx, key); err != nil {
		return err // also for directories, which Delete would remove
	}
	_, err := o.c.NewBlobClient(key).Delete(ctx, nil)
	return err
}

func (o *azure) list(ctx context.Context, prefix, startAfter string, recursive bool) iter.Seq2[listed, error] {
	return func(yield func(listed, error) bool) {
		page := o.pages(prefix, startAfter, recursive)
		for {
			entries, more, err := page(ctx)
			if err != nil {
				yield(listed{}, err)
				return
			}
			// A page has its objects and its prefixes apart.
			slices.SortFunc(entries, func(a, b listed) int { return strings.Compare(a.key, b.key) })
			for _, l := range entries {
				if !yield(l, nil) {
					return
				}
			}
			if !more {
				return
			}
		}
	}
}

// pages returns a function that fetches page after page.
func (o *azure) pages(prefix, startAfter string, recursive bool) func(context.Context) ([]listed, bool, error) {
	var from *string
	if startAfter > prefix {
		from = &startAfter
	}
	if recursive {
		p := o.c.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: &prefix, StartFrom: from})
		return func(ctx context.Context) ([]listed, bool, error) {
			r, err := p.NextPage(ctx)
			if err != nil || r.Segment == nil {
				return nil, false, err
			}
			return items(nil, r.Segment.BlobItems), p.More(), nil
		}
	}
	p := o.c.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{Prefix: &prefix, StartFrom: from})
	return func(ctx context.Context) ([]listed, bool, error) {
		r, err := p.NextPage(ctx)
		if err != nil || r.Segment == nil {
			return nil, false, err
		}
		entries := items(nil, r.Segment.BlobItems)
		for _, b := range r.Segment.BlobPrefixes {
			entries = append(entries, listed{key: deref(b.Name), prefix: true})
		}
		return entries, p.More(), nil
	}
}

func items(entries []listed, blobs []*container.BlobItem) []listed {
	for _, b := range blobs {
		if b.Properties == nil || deref(b.Properties.ResourceType) == "directory" || metadata(b.Metadata, "hdi_isfolder") == "true" {
			continue
		}
		entries = append(entries, listed{key: deref(b.Name), attrs: attrs{
			size: deref(b.Properties.ContentLength), modTime: deref(b.Properties.LastModified), etag: azureETag(b.Properties.ETag),
		}})
	}
	return entries
}
