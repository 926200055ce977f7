// Package bucket is a store over a gocloud.dev bucket: S3, Google Cloud Storage, Azure Blob Storage, or memory.
//
// It knows keys, conditional requests and what providers answer. It must never know what an object means. The drivers that open a
// real bucket are imported by the command; this package knows the types that they hand out, because the portable interface can
// neither replace one version of an object nor read one.
//
// # How a create has exactly one winner
//
// PutIfAbsent is a conditional request (If-None-Match: * and its likes), decided by the provider. Every write carries an
// identity in the metadata "hudifsid". When the answer is lost, or says "exists" although it may have been a repetition inside the
// provider's client that found our own first attempt, the object's identity tells who won. What that cannot settle is
// storage.ErrAmbiguous.
//
// # Keys
//
// gocloud.dev or the provider stores some keys under other names (with control characters, say), which would show other engines
// other files. Such paths are refused with an error that matches fs.ErrInvalid, before anything is read or written. On Azure that
// would take in every "%", so there this package speaks to the provider's client itself. Objects whose keys are no paths (ending in a slash, with empty elements) are the directory markers of other tools; listings leave them out.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"strings"
	"unicode/utf8"

	"gocloud.dev/blob"

	"github.com/hudifs/hudifs/internal/storage"
)

// Options of New and Open.
type Options struct {
	Prefix string       // key prefix of the base path, "" or ending in a slash; Open takes it from the URL
	URL    string       // what Store.URL says; without credentials; Open takes it from the URL
	Log    *slog.Logger // nil discards
}

// Store is a storage.Store over a bucket.
type Store struct {
	b      backend
	prefix string
	url    string
	log    *slog.Logger
	prov   provider
}

var (
	_ storage.Store    = (*Store)(nil)
	_ storage.Replacer = (*Store)(nil)
	_ storage.IDPutter = (*Store)(nil)
)

// New makes a store over b, which it closes in Close.
func New(b *blob.Bucket, o Options) (*Store, error) {
	if err := storage.CheckPrefix(o.Prefix); err != nil {
		return nil, fmt.Errorf("open a bucket: %w", err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{prefix: o.Prefix, url: o.URL, log: o.Log}
	s.b, s.prov = backendOf(b)
	if s.url == "" {
		s.url = s.prov.name + "://bucket/" + strings.TrimSuffix(o.Prefix, "/")
	}
	return s, nil
}

// Open opens a URL with the drivers that the program has imported. The path is the base path within the bucket; parameters
// (region, endpoint, …) go to the driver. Hadoop's spellings are understood: s3a and s3n, and
// abfs[s]://container@account.host/path and wasb[s] for Azure.
func Open(ctx context.Context, rawURL string, o Options) (*Store, error) {
	driverURL, prefix, shown, err := splitURL(rawURL)
	if err != nil {
		return nil, err
	}
	b, err := blob.OpenBucket(ctx, driverURL)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", shown, err)
	}
	o.Prefix, o.URL = prefix, shown
	s, err := New(b, o)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return s, nil
}

// splitURL takes apart a URL into what the driver opens, the key prefix, and what may be shown to people.
func splitURL(rawURL string) (driverURL, prefix, shown string, err error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		// The text may hold a secret: say only what kind of thing is wrong.
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return "", "", "", fmt.Errorf("the URL of the table cannot be read: %w", err)
	}
	shown = u.Scheme + "://" + u.Host + strings.TrimSuffix(u.Path, "/")
	d := url.URL{Scheme: u.Scheme, Host: u.Host, RawQuery: u.RawQuery}
	switch u.Scheme {
	case "s3a", "s3n":
		d.Scheme = "s3"
	case "abfs", "abfss", "wasb", "wasbs":
		if u.User == nil || u.User.Username() == "" {
			return "", "", "", fmt.Errorf("%s: want %s://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH", shown, u.Scheme)
		}
		account, domain, _ := strings.Cut(u.Hostname(), ".")
		q := u.Query()
		q.Set("storage_account", account)
		// gocloud speaks to the blob endpoint of the same account.
		if domain = strings.Replace(domain, "dfs.", "blob.", 1); domain != "" && domain != "blob.core.windows.net" {
			q.Set("domain", domain)
		}
		d = url.URL{Scheme: "azblob", Host: u.User.Username(), RawQuery: q.Encode()}
		shown = u.Scheme + "://" + u.User.Username() + "@" + u.Host + strings.TrimSuffix(u.Path, "/")
	}
	if prefix = strings.Trim(u.Path, "/"); prefix != "" {
		prefix += "/"
	}
	if err := storage.CheckPrefix(prefix); err != nil {
		return "", "", "", fmt.Errorf("%s: %w", shown, err)
	}
	return d.String(), prefix, shown, nil
}

// Properties implements storage.Store.
func (s *Store) Properties() storage.Properties {
	return storage.Properties{AtomicPutIfAbsent: true, ListAfterWrite: true, ConditionalPut: s.prov.canMatch}
}

// URL implements storage.Store.
func (s *Store) URL() string { return s.url }

// Close implements storage.Store.
func (s *Store) Close() error { return s.b.close() }

// key is the head of every method: a live context, and a path that is stored under its own name.
func (s *Store) key(ctx context.Context, path string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("access %s: %w", path, err)
	}
	if err := storage.CheckPath(path); err != nil {
		return "", err
	}
	key := s.prefix + path
	if err := s.checkKey(key); err != nil {
		return "", err
	}
	return key, nil
}

func (s *Store) checkKey(key string) error {
	if !utf8.ValidString(key) {
		return fmt.Errorf("object key %q is not UTF-8, which %s wants: %w", key, s.prov.name, fs.ErrInvalid)
	}
	if s.prov.rewrites != nil && s.prov.rewrites(key) {
		return fmt.Errorf("object key %q would be stored under another name on %s, and other engines would not find it: %w", key, s.prov.name, fs.ErrInvalid)
	}
	return nil
}

func info(path string, a attrs) storage.Info {
	return storage.Info{Path: path, Size: a.size, ModTime: a.modTime, ETag: a.etag}
}

// Stat implements storage.Store.
func (s *Store) Stat(ctx context.Context, path string) (storage.Info, error) {
	key, err := s.key(ctx, path)
	if err != nil {
		return storage.Info{}, err
	}
	a, err := s.b.attributes(ctx, key)
	if err != nil {
		return storage.Info{}, s.failed(ctx, read, "stat", path, err)
	}
	return info(path, a), nil
}

// ReadAll implements storage.Store.
func (s *Store) ReadAll(ctx context.Context, path string) ([]byte, error) {
	key, err := s.key(ctx, path)
	if err != nil {
		return nil, err
	}
	b, err := s.b.readAll(ctx, key)
	if err != nil {
		return nil, s.failed(ctx, read, "read", path, err)
	}
	return b, nil
}

// Delete implements storage.Store.
func (s *Store) Delete(ctx context.Context, path string) error {
	key, err := s.key(ctx, path)
	if err != nil {
		return err
	}
	if err := s.b.remove(ctx, key); err != nil {
		return s.failed(ctx, change, "delete", path, err)
	}
	return nil
}
