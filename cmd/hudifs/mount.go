package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hudifs/hudifs/commitwatch"
	"github.com/hudifs/hudifs/fusefs"
	"github.com/hudifs/hudifs/internal/filecache"
	"github.com/hudifs/hudifs/internal/storage"
	"github.com/hudifs/hudifs/internal/tableconfig"
	"github.com/hudifs/hudifs/snapshot"
	"github.com/hudifs/hudifs/timeline"
	"github.com/hudifs/hudifs/writer"
	"github.com/hudifs/hudifs/writer/ingest"
	"github.com/hudifs/hudifs/writer/service"
)

// mountFlags are what rules a mount, from flags or from -o.
type mountFlags struct {
	daemon, readOnly    bool
	ack                 string
	cacheDir            string
	cacheSize, memory   byteSize
	maxDrop, maxStaged  byteSize
	poll                time.Duration
	openTimeout         time.Duration
	sealTimeout         time.Duration
	ingestMode          fileMode
	disableMetadata     bool
	allowOther          bool
	nonEmpty            bool
	fillMissing         bool
	delimiter, nullText string
	prepare             byteSize
	compact             bool
	compaction          service.CompactionOptions
	never               []string
	options             []string // -o
	ready               int      // file descriptor to tell that the mount answers; of --daemon's child
}

func newMount() *cobra.Command {
	f := mountFlags{cacheSize: 10 << 30, memory: 256 << 20, prepare: 256 << 20, ingestMode: 0o755}
	cmd := &cobra.Command{
		Use:   "mount SOURCE MOUNTPOINT",
		Short: "Mount a table as a directory",
		Long: `Mount the table at SOURCE (a path or URL) on the directory MOUNTPOINT, in the foreground until it is unmounted or told to end.

With --daemon it returns once the mount answers and serves on in the background.`,
		Args: args(2, 2),
		RunE: func(cmd *cobra.Command, pos []string) error { return mountCommand(cmd, pos[0], pos[1], &f) },
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.daemon, "daemon", false, "serve in the background; return when the mount answers")
	fl.BoolVar(&f.readOnly, "read-only", false, "take no drops")
	fl.StringVar(&f.ack, "ack", envOr("HUDIFS_ACK", "commit"), "when close of a drop returns: commit (its rows are committed) or stage (its bytes are safe on this machine)")
	fl.StringVar(&f.cacheDir, "cache-dir", envOr("HUDIFS_CACHE_DIR", ""), "directory for the cache and for drops that are not committed yet (default "+defaultCacheDir()+")")
	fl.Var(&f.cacheSize, "cache-size", "bytes that the cache may hold")
	fl.Var(&f.memory, "memory", "bytes of rows that a write or merge holds in memory before it spills to disk")
	fl.Var(&f.maxDrop, "max-drop-size", "largest drop; 0: no limit (with a limit, writes go through the daemon)")
	fl.Var(&f.maxStaged, "max-staged", "most bytes of drops that are not committed; 0: no limit (with a limit, writes go through the daemon)")
	fl.Var(&f.prepare, "prepare", "bytes of slices with logs that are merged ahead for the newest commit; 0: none")
	fl.BoolVar(&f.compact, "compact", true, "compact a merge-on-read table in the background when that is due")
	compactionFlags(cmd, &f.compaction)
	fl.DurationVar(&f.poll, "poll", time.Second, "how often to look for other writers' commits where the store sends no events")
	fl.DurationVar(&f.openTimeout, "open-timeout", 30*time.Second, "how long stat and open wait for a file that has to be made first")
	fl.DurationVar(&f.sealTimeout, "seal-timeout", 5*time.Minute, "how long close, fsync and rename of a drop wait for its commit")
	fl.Var(&f.ingestMode, "ingest-mode", "permissions of the ingest directories, in octal")
	fl.BoolVar(&f.disableMetadata, "disable-metadata-table", false, "let the first commit switch the table's metadata table off, which hudifs does not write")
	fl.BoolVar(&f.allowOther, "allow-other", os.Geteuid() == 0, "let other users in")
	fl.BoolVar(&f.nonEmpty, "allow-non-empty", false, "mount over a directory that is not empty")
	fl.BoolVar(&f.fillMissing, "fill-missing-columns", false, "take drops that lack nullable columns, as null")
	fl.StringVar(&f.delimiter, "csv-delimiter", ",", "field delimiter of .csv drops")
	fl.StringVar(&f.nullText, "csv-null", "", "text that means null in CSV drops, besides an empty field")
	fl.StringArrayVar(&f.never, "never-commit", nil, "further pattern of file names that are never committed (may be repeated)")
	fl.StringArrayVarP(&f.options, "options", "o", nil, "mount options as mount(8) passes them: ro, allow_other, FLAG or FLAG=VALUE of the flags above")
	fl.IntVar(&f.ready, "ready-fd", 0, "")
	_ = fl.MarkHidden("ready-fd")
	return cmd
}

// mountCommand gets the flags by reference: those that -o sets arrive in f only once the command runs.
func mountCommand(cmd *cobra.Command, source, mountpoint string, f *mountFlags) error {
	if err := f.applyOptions(cmd); err != nil {
		return err
	}
	log, err := logger(cmd)
	if err != nil {
		return err
	}
	if f.ack != "commit" && f.ack != "stage" {
		return usageError{fmt.Errorf("--ack %s: want commit or stage", f.ack)}
	}
	if err := f.compaction.Validate(); err != nil {
		return usageError{err}
	}
	if len(f.delimiter) != 1 {
		return usageError{fmt.Errorf("--csv-delimiter %q: want one character", f.delimiter)}
	}
	if f.openTimeout <= 0 || f.sealTimeout <= 0 {
		return usageError{errors.New("--open-timeout and --seal-timeout: want a time above zero")}
	}
	if f.daemon {
		return daemonize(cmd, source, mountpoint)
	}
	m, err := newMounted(cmd.Context(), source, mountpoint, *f, log)
	if err != nil {
		return notifyReady(f.ready, err)
	}
	defer m.close()
	if err := m.fs.Mount(cmd.Context(), mountpoint, m.options); err != nil {
		return notifyReady(f.ready, coded(exitMount, err))
	}
	if err := notifyReady(f.ready, nil); err != nil {
		return err
	}
	log.Info("mounted", "table", source, "mountpoint", mountpoint)
	return m.run(cmd.Context())
}

// mounted is everything behind one mount.
type mounted struct {
	f       mountFlags
	log     *slog.Logger
	store   storage.Store
	table   *snapshot.Table
	cache   *filecache.Cache
	queue   *ingest.Queue // nil: read-only
	writer  *writer.Writer
	noDrops error // why a table takes none
	watch   *commitwatch.Watcher
	changed chan struct{}
	fs      *fusefs.FS
	options fusefs.MountOptions
	started time.Time
	source  string
	at      string
}

// stateDir is the directory of one table's cache and spool.
func stateDir(cacheDir, source string) (string, error) {
	dir, local, err := localPath(source)
	if err != nil {
		return "", err
	}
	id := source
	if local {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		id = dir
	} else {
		id, _, _ = strings.Cut(source, "?")
	}
	h := fnv.New64a()
	h.Write([]byte(id))
	if cacheDir == "" {
		cacheDir = defaultCacheDir()
	}
	return filepath.Join(cacheDir, fmt.Sprintf("%s-%016x", tableName(id), h.Sum64())), nil
}

func newMounted(ctx context.Context, source, mountpoint string, f mountFlags, log *slog.Logger) (m *mounted, err error) {
	m = &mounted{f: f, log: log, changed: make(chan struct{}, 1), started: time.Now(), source: source}
	defer func() {
		if err != nil {
			m.close()
		}
	}()
	if m.at, err = filepath.Abs(mountpoint); err != nil {
		return m, err
	}
	state, err := stateDir(f.cacheDir, source)
	if err != nil {
		return m, err
	}
	if dir, isLocal, err := localPath(source); err != nil {
		return m, err
	} else if isLocal {
		m.options.Apart = append(m.options.Apart, dir)
	}
	m.options.Apart = append(m.options.Apart, state)
	if _, err := fusefs.ReplaceStale(m.at); err != nil {
		return m, coded(exitMount, err)
	}
	if err := fusefs.CheckMountpoint(m.at, m.options.Apart...); err != nil {
		return m, coded(exitMount, err)
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return m, fmt.Errorf("cache directory: %w (choose another with --cache-dir)", err)
	}
	if m.cache, err = filecache.Open(filepath.Join(state, "files"), int64(f.cacheSize), log); err != nil {
		return m, err
	}
	if m.table, m.store, err = openTable(ctx, source, snapshot.Options{Log: log, Cache: m.cache}); err != nil {
		return m, err
	}
	if err := m.openWriter(ctx, state); err != nil {
		return m, err
	}
	if err := m.openWatch(source); err != nil {
		return m, err
	}
	return m, m.openFS(state)
}

// openWriter prepares what takes drops. A table that can't be written to is mounted read-only, and says why where it is asked.
func (m *mounted) openWriter(ctx context.Context, state string) error {
	if m.f.readOnly {
		return nil
	}
	w, err := writer.New(writer.Options{Table: m.table, Lock: tableLock(m.source), Log: m.log, MemoryBytes: int64(m.f.memory), TempDir: state, DisableMetadataTable: m.f.disableMetadata})
	if errors.Is(err, writer.ErrNotWritable) {
		m.noDrops = err
		m.log.Warn("the table takes no drops", "err", err)
		return nil
	}
	if err != nil {
		return err
	}
	if err := w.Recover(ctx); err != nil {
		return fmt.Errorf("roll back what a dead writer left: %w", err)
	}
	o := ingest.Options{Dir: filepath.Join(state, "spool"), Table: m.table, Writer: w, Log: m.log, Never: m.f.never,
		MaxDrop: int64(m.f.maxDrop), MaxStaged: int64(m.f.maxStaged), UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
		Decode: ingest.DecodeOptions{Delimiter: m.f.delimiter[0], NullToken: m.f.nullText, FillMissing: m.f.fillMissing}}
	if m.f.ack == "stage" {
		o.Ack = ingest.AckStage
	}
	m.writer = w
	m.queue, err = ingest.New(o)
	return err
}

func (m *mounted) openWatch(source string) (err error) {
	wakers := []commitwatch.Waker{}
	if dir, isLocal, _ := localPath(source); isLocal {
		hoodie := filepath.Join(dir, ".hoodie")
		wakers = append(wakers, commitwatch.Inotify{Dirs: []string{hoodie, filepath.Join(dir, filepath.FromSlash(m.table.Config().TimelineDir()))}})
		// Other hosts' writes to a network disk raise no event.
		wakers = append(wakers, commitwatch.Poll{Every: max(m.f.poll, 10*time.Second)})
	} else {
		wakers = append(wakers, commitwatch.Poll{Every: m.f.poll})
	}
	m.watch, err = commitwatch.New(commitwatch.Options{Load: func(ctx context.Context) (*timeline.Timeline, error) { return m.table.Reload(ctx) }, Wakers: wakers, Log: m.log})
	return err
}

func (m *mounted) openFS(state string) (err error) {
	cfg := fusefs.Config{
		Source: fusefs.NewTableSource(m.table), Log: m.log, ReadOnly: m.f.readOnly, SpaceDir: state, Changed: m.changed,
		UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Views: m.views(),
		IngestMode: uint32(m.f.ingestMode), OpenTimeout: m.f.openTimeout, SealTimeout: m.f.sealTimeout,
		Reload: func(ctx context.Context) error { return m.watch.Poke(ctx) },
		Control: []fusefs.ControlFile{
			{Name: "status.json", Content: m.status},
			{Name: "health", Content: m.health},
			{Name: "config", Content: m.config},
		},
	}
	if m.queue != nil {
		cfg.Ingest = ingester{m.queue.Dir("upsert"), m.queue}
		cfg.Operations = map[string]fusefs.Ingester{}
		for _, op := range ingest.Operations() {
			cfg.Operations[op] = ingester{m.queue.Dir(op), m.queue}
		}
		cfg.Control = append(cfg.Control, fusefs.ControlFile{Name: "ingest.log", Local: m.queue.LogPath()})
	}
	m.options.AllowOther = m.f.allowOther
	m.options.AllowNonEmpty = m.f.nonEmpty
	m.fs, err = fusefs.New(cfg)
	return err
}

// run serves until the mount is gone or ctx ends; then drops that are being committed are finished, within bounds.
func (m *mounted) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, unsubscribe := m.watch.Subscribe()
	defer unsubscribe()
	errs := make(chan error, 4)
	started := 0
	spawn := func(fn func(context.Context) error) {
		started++
		go func() {
			err := fn(ctx)
			cancel()
			errs <- err
		}()
	}
	spawn(m.fs.Run)
	spawn(m.watch.Run)
	spawn(func(ctx context.Context) error { m.forward(ctx, events); return nil })
	if m.queue != nil {
		spawn(m.queue.Run)
	}
	if m.writer != nil && m.f.compact && m.table.Config().Type == tableconfig.MergeOnRead {
		spawn(func(ctx context.Context) error { m.maintain(ctx); return nil })
	}
	var err error
	for range started {
		if e := <-errs; e != nil && !errors.Is(e, context.Canceled) && err == nil {
			err = e
		}
	}
	return err
}

// forward tells the mount of commits, and has files of the newest one prepared.
func (m *mounted) forward(ctx context.Context, events <-chan commitwatch.Event) {
	prepare := make(chan struct{}, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.prepareLoop(ctx, prepare)
	}()
	defer func() { <-done }()
	poke := func(c chan struct{}) {
		select {
		case c <- struct{}{}:
		default:
		}
	}
	poke(prepare)
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-events:
			if !ok {
				return
			}
			poke(m.changed)
			poke(prepare)
		}
	}
}

func (m *mounted) prepareLoop(ctx context.Context, wake <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
		}
		if m.f.prepare == 0 {
			continue
		}
		c, ok, err := m.table.Latest(ctx)
		if err != nil || !ok {
			continue
		}
		s, err := m.table.At(ctx, nil, c.Time)
		if err != nil {
			continue
		}
		if _, err := s.Prepare(ctx, int64(m.f.prepare)); err != nil && ctx.Err() == nil {
			m.log.Debug("the newest commit could not be prepared", "err", err)
		}
	}
}

// maintain compacts when that is due, and takes up what a dead process left.
func (m *mounted) maintain(ctx context.Context) {
	events, unsubscribe := m.watch.Subscribe()
	defer unsubscribe()
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		if _, err := m.writer.CompactIfDue(ctx, m.f.compaction); err != nil && ctx.Err() == nil {
			m.log.Error("compaction failed; it is tried again", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-events:
		case <-tick.C:
		}
	}
}

func (m *mounted) close() {
	if m.queue != nil {
		m.queue.Close()
	}
	if m.store != nil {
		m.store.Close()
	}
	if m.cache != nil {
		m.cache.Close()
	}
}

// mountStatus is .hudifs/status.json.
type mountStatus struct {
	Version    string         `json:"version"`
	PID        int            `json:"pid"`
	Source     string         `json:"source"`
	Mountpoint string         `json:"mountpoint"`
	Table      string         `json:"table"`
	ReadOnly   bool           `json:"read_only"`
	NoDrops    string         `json:"no_drops,omitempty"` // why the table takes no drops
	Started    time.Time      `json:"started"`
	Commits    int            `json:"commits"`
	Latest     string         `json:"latest,omitempty"`
	Ingest     *ingest.Status `json:"ingest,omitempty"`
}

func (m *mounted) status(ctx context.Context) ([]byte, error) {
	s := mountStatus{Version: version, PID: os.Getpid(), Source: m.table.Store().URL(), Mountpoint: m.at, Table: m.table.Config().Name,
		ReadOnly: m.queue == nil, Started: m.started.UTC()}
	if m.noDrops != nil {
		s.NoDrops = m.noDrops.Error()
	}
	commits, err := m.table.Commits(ctx)
	if err != nil {
		return nil, err
	}
	s.Commits = len(commits)
	if len(commits) > 0 {
		s.Latest = string(commits[len(commits)-1].Time)
	}
	if m.queue != nil {
		st := m.queue.Status()
		s.Ingest = &st
	}
	out, err := json.MarshalIndent(s, "", "  ")
	return append(out, '\n'), err
}

// health is one line: ok, or what is wrong.
func (m *mounted) health(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := m.table.Active().Load(ctx); err != nil {
		return []byte("table unreadable: " + err.Error() + "\n"), nil
	}
	if m.queue != nil {
		s := m.queue.Status()
		if s.LastErrorAt != nil && s.Queued > 0 {
			return []byte("commits fail: " + s.LastError + "\n"), nil
		}
		if s.Rejected > 0 {
			return fmt.Appendf(nil, "ok, %d drops rejected since the start: see .hudifs/rejected\n", s.Rejected), nil
		}
	}
	return []byte("ok\n"), nil
}

func (m *mounted) config(context.Context) ([]byte, error) {
	return fmt.Appendf(nil, "source=%s\nmountpoint=%s\nack=%s\nread-only=%t\ncache-dir=%s\ncache-size=%s\nmemory=%s\nmax-drop-size=%s\nmax-staged=%s\npoll=%s\nprepare=%s\n",
		m.table.Store().URL(), m.at, m.f.ack, m.f.readOnly, m.f.cacheDir, m.f.cacheSize.String(), m.f.memory.String(), m.f.maxDrop.String(), m.f.maxStaged.String(), m.f.poll, m.f.prepare.String()), nil
}
