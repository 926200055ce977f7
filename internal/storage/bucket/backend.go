package bucket

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// attrs describes one object.
type attrs struct {
	size    int64
	modTime time.Time
	etag    string // names the version, in the form that conditions take
	id      string // of the write that made it; "" when it was not ours
}

// condition is what must hold for a write to happen.
type condition struct {
	absent bool
	etag   string // "" for any version
}

// listed is one entry of a listing: an object, or a common prefix ending in a slash.
type listed struct {
	key    string
	prefix bool
	attrs
}

// errChanged says that the version that was to be read is not the one that is there.
var errChanged = errors.New("it was replaced while it was open")

// backend is a bucket by keys. Its errors are the provider's, except errChanged.
type backend interface {
	attributes(ctx context.Context, key string) (attrs, error)
	readAll(ctx context.Context, key string) ([]byte, error)
	// readRange fills p from off with bytes of the version want, or returns how many came.
	readRange(ctx context.Context, key string, want attrs, p []byte, off int64) (int, error)
	// upload publishes all of r under key with the identity id, or nothing when r or ctx fails.
	upload(ctx context.Context, key string, r io.Reader, id string, c condition) error
	remove(ctx context.Context, key string) error
	// list yields the entries in byte order, some that are not behind startAfter among them. recursive has no prefixes.
	list(ctx context.Context, prefix, startAfter string, recursive bool) iter.Seq2[listed, error]
	code(err error) gcerrors.ErrorCode
	close() error
}

// portable is the backend over the portable interface of gocloud.dev, with the provider's conditions.
type portable struct {
	b *blob.Bucket
	p provider
}

func (o *portable) code(err error) gcerrors.ErrorCode { return gcerrors.Code(err) }
func (o *portable) close() error                      { return o.b.Close() }

func (o *portable) attributes(ctx context.Context, key string) (attrs, error) {
	a, err := o.b.Attributes(ctx, key)
	if err != nil {
		return attrs{}, err
	}
	return attrs{size: a.Size, modTime: a.ModTime, etag: o.p.attrETag(a), id: a.Metadata[idKey]}, nil
}

func (o *portable) readAll(ctx context.Context, key string) ([]byte, error) {
	return o.b.ReadAll(ctx, key)
}

func (o *portable) readRange(ctx context.Context, key string, want attrs, p []byte, off int64) (int, error) {
	opts := &blob.ReaderOptions{}
	if o.p.matchRead != nil {
		opts.BeforeRead = func(as func(any) bool) error { return o.p.matchRead(as, want.etag) }
	}
	r, err := o.b.NewRangeReader(ctx, key, off, int64(len(p)), opts)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	have := o.p.readETag(r)
	if r.Size() != want.size || (have != "" && have != want.etag) || (have == "" && !r.ModTime().Equal(want.modTime)) {
		return 0, errChanged
	}
	return io.ReadFull(r, p)
}

func (o *portable) upload(ctx context.Context, key string, r io.Reader, id string, c condition) error {
	w := &blob.WriterOptions{
		ContentType: contentType,
		IfNotExist:  c.absent,
		Metadata:    map[string]string{idKey: id},
	}
	if c.etag != "" {
		w.BeforeWrite = func(as func(any) bool) error { return o.p.matchWrite(as, c.etag) }
	}
	return o.b.Upload(ctx, key, r, w)
}

// remove looks first, because some providers answer alike whether the object was there or not.
func (o *portable) remove(ctx context.Context, key string) error {
	if _, err := o.b.Attributes(ctx, key); err != nil {
		return err
	}
	return o.b.Delete(ctx, key)
}

func (o *portable) list(ctx context.Context, prefix, startAfter string, recursive bool) iter.Seq2[listed, error] {
	return func(yield func(listed, error) bool) {
		opts := &blob.ListOptions{Prefix: prefix}
		if !recursive {
			opts.Delimiter = "/"
		}
		if startAfter > prefix && o.p.listAfter != nil {
			opts.BeforeList = func(as func(any) bool) error {
				o.p.listAfter(as, startAfter)
				return nil
			}
		}
		it := o.b.List(opts)
		for {
			obj, err := it.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(listed{}, err)
				return
			}
			l := listed{key: obj.Key, prefix: obj.IsDir}
			if !obj.IsDir {
				l.attrs = attrs{size: obj.Size, modTime: obj.ModTime, etag: o.p.listETag(obj)}
			}
			if !yield(l, nil) {
				return
			}
		}
	}
}
