// Package bucket is a store over a gocloud.dev bucket.
package bucket

import (
	"context"
	"log/slog"

	"github.com/hudifs/hudifs/internal/storage"
	"gocloud.dev/blob"
)

// Options of New and Open.
type Options struct {
	Prefix string       // key prefix of the base path, "" or ending in a slash
	URL    string       // what Store.URL says; without credentials
	Log    *slog.Logger // nil discards
}

// New makes a store over b, which it closes in Close.
func New(b *blob.Bucket, o Options) (*Store, error) { panic("being written") }

// Open opens rawURL (s3://bucket/prefix?region=…, gs://…, azblob://container/prefix, s3a://…, abfss://…) with the drivers that the program has imported.
func Open(ctx context.Context, rawURL string, o Options) (*Store, error) { panic("being written") }

// Store is a storage.Store over a bucket.
type Store struct{ storage.Store }
