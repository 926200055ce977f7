package merge

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/tableconfig"
)

const model = "org.apache.hudi.common.model."

// rules are the merge rules under test: how a table of each version asks for them.
var rules = map[string]struct {
	version int
	props   []string
}{
	"v6 overwrite":    {6, []string{"hoodie.compaction.payload.class=" + model + "OverwriteWithLatestAvroPayload"}},
	"v6 default":      {6, []string{"hoodie.compaction.payload.class=" + model + "DefaultHoodieRecordPayload"}},
	"v6 eventtime":    {6, []string{"hoodie.compaction.payload.class=" + model + "EventTimeAvroPayload"}},
	"v6 nondefaults":  {6, []string{"hoodie.compaction.payload.class=" + model + "OverwriteNonDefaultsWithLatestAvroPayload"}},
	"v6 partial":      {6, []string{"hoodie.compaction.payload.class=" + model + "PartialUpdateAvroPayload"}},
	"v6 dms":          {6, []string{"hoodie.compaction.payload.class=" + model + "AWSDmsAvroPayload"}},
	"v6 mysql":        {6, []string{"hoodie.compaction.payload.class=" + model + "debezium.MySqlDebeziumAvroPayload", "ordering=_event_seq"}},
	"v6 postgres":     {6, []string{"hoodie.compaction.payload.class=" + model + "debezium.PostgresDebeziumAvroPayload", "ordering=_event_lsn"}},
	"v6 first":        {6, []string{"hoodie.compaction.payload.class=" + model + "FirstValueAvroPayload"}},
	"v6 empty":        {6, []string{"hoodie.compaction.payload.class=" + model + "EmptyHoodieRecordPayload"}},
	"v8 commit":       {8, []string{"hoodie.record.merge.mode=COMMIT_TIME_ORDERING", "hoodie.record.merge.strategy.id=" + tableconfig.StrategyCommitTime}},
	"v8 event":        {8, []string{"hoodie.record.merge.mode=EVENT_TIME_ORDERING", "hoodie.record.merge.strategy.id=" + tableconfig.StrategyEventTime}},
	"v8 eventtime":    {8, custom("EventTimeAvroPayload")},
	"v8 nondefaults":  {8, custom("OverwriteNonDefaultsWithLatestAvroPayload")},
	"v8 partial":      {8, custom("PartialUpdateAvroPayload")},
	"v8 dms":          {8, custom("AWSDmsAvroPayload")},
	"v8 mysql":        {8, append(custom("debezium.MySqlDebeziumAvroPayload"), "ordering=_event_seq")},
	"v8 postgres":     {8, append(custom("debezium.PostgresDebeziumAvroPayload"), "ordering=_event_lsn")},
	"v8 first":        {8, custom("FirstValueAvroPayload")},
	"v9 commit":       {9, []string{"hoodie.record.merge.mode=COMMIT_TIME_ORDERING", "ordering="}},
	"v9 event":        {9, []string{"hoodie.record.merge.mode=EVENT_TIME_ORDERING"}},
	"v9 event two":    {9, []string{"hoodie.record.merge.mode=EVENT_TIME_ORDERING", "ordering=ts,n"}},
	"v9 nondefaults":  {9, []string{"hoodie.record.merge.mode=COMMIT_TIME_ORDERING", "hoodie.table.partial.update.mode=IGNORE_DEFAULTS", "ordering="}},
	"v9 partial":      {9, []string{"hoodie.record.merge.mode=EVENT_TIME_ORDERING", "hoodie.table.partial.update.mode=IGNORE_DEFAULTS"}},
	"v9 unavailable":  {9, []string{"hoodie.record.merge.mode=EVENT_TIME_ORDERING", "hoodie.table.partial.update.mode=FILL_UNAVAILABLE", "hoodie.record.merge.property.hoodie.write.partial.update.unavailable.value=__none"}},
	"v9 marker":       {9, []string{"hoodie.record.merge.mode=COMMIT_TIME_ORDERING", "ordering=", "hoodie.record.merge.property.hoodie.payload.delete.field=Op", "hoodie.record.merge.property.hoodie.payload.delete.marker=D"}},
	"v9 event marker": {9, []string{"hoodie.record.merge.mode=EVENT_TIME_ORDERING", "hoodie.record.merge.property.hoodie.payload.delete.field=n", "hoodie.record.merge.property.hoodie.payload.delete.marker=99"}},
}

func custom(payload string) []string {
	return []string{"hoodie.record.merge.mode=CUSTOM", "hoodie.record.merge.strategy.id=" + tableconfig.StrategyPayloadClass,
		"hoodie.compaction.payload.class=" + model + payload}
}

func ruleFixture(t testing.TB, rule string) *fixture {
	t.Helper()
	r, ok := rules[rule]
	if !ok {
		t.Fatalf("no rule %q", rule)
	}
	return &fixture{t: t, schema: mustSchema(t, sampleFields).WithMetaFields(), cfg: config(t, r.version, r.props...)}
}

// cases: under each of the rules, a base file and log blocks give the rows.
var cases = []struct {
	name  string
	rules string // comma separated
	base  []string
	log   []string
	want  []string
}{
	// Every rule.
	{"newer wins", "*", []string{"a,1,old"}, []string{"1: a,2,new"}, []string{"a,2,new@1"}},
	{"newer of two logged wins", "*", nil, []string{"1: a,1,old", "2: a,2,new"}, []string{"a,2,new@2"}},
	{"inserts come behind, in order of arrival", "*", []string{"b,1,x"}, []string{"1: z,1,z; a,1,a", "2: b,2,y; m,1,m"}, []string{"b,2,y@2", "z,1,z@1", "a,1,a@1", "m,1,m@2"}},
	{"untouched rows keep everything", "*", []string{"a,1,x", "b,1,y"}, []string{"1: c,1,z"}, []string{"a,1,x@000", "b,1,y@000", "c,1,z@1"}},
	{"delete without ordering value", "*", []string{"a,100,x", "b,1,y"}, []string{"1: del a"}, []string{"b,1,y@000"}},
	{"delete of nothing", "*", []string{"a,1,x"}, []string{"1: del q"}, []string{"a,1,x@000"}},
	{"delete of a logged insert", "*", nil, []string{"1: a,1,x", "2: del a"}, nil},
	{"flagged row deletes", "*", []string{"a,1,x"}, []string{"1: a,2,x,_hoodie_is_deleted=true"}, nil},
	{"flagged row without a base row", "*", nil, []string{"1: a,2,x,_hoodie_is_deleted=true"}, nil},
	{"flag false or null is no delete", "*", []string{"a,1,x", "b,1,x"}, []string{"1: a,2,y,_hoodie_is_deleted=false; b,2,y"}, []string{"a,2,y,_hoodie_is_deleted=false@1", "b,2,y@1"}},

	// Ties: what arrived later (G2).
	{"ties", "v6 overwrite,v6 default,v6 eventtime,v8 commit,v8 event,v8 eventtime,v9 commit,v9 event,v9 event two,v6 dms", []string{"a,7,a"}, []string{"1: a,7,b", "2: a,7,c"}, []string{"a,7,c@2"}},
	{"ties, first value", "v6 first,v8 first", []string{"a,7,a"}, []string{"1: a,7,b; b,7,x", "2: a,7,c; b,7,y"}, []string{"a,7,a@000", "b,7,x@1"}},

	// Late records.
	{"late against base", "v6 default,v6 eventtime,v8 event,v8 eventtime,v9 event,v9 event two,v6 first,v8 first", []string{"a,5,a"}, []string{"1: a,4,b"}, []string{"a,5,a@000"}},
	{"late against base, commit time", "v6 overwrite,v6 nondefaults,v8 nondefaults,v8 commit,v9 commit,v6 dms,v8 dms", []string{"a,5,a"}, []string{"1: a,4,b"}, []string{"a,4,b@1"}},
	{"late among logs", "v6 overwrite,v6 default,v6 eventtime,v8 event,v9 event,v6 dms,v8 dms,v6 nondefaults,v8 nondefaults,v8 eventtime,v6 first,v8 first", nil, []string{"1: a,5,a", "2: a,4,b"}, []string{"a,5,a@1"}},
	{"late among logs, commit time", "v8 commit,v9 commit,v9 nondefaults", nil, []string{"1: a,5,a", "2: a,4,b"}, []string{"a,4,b@2"}},
	{"G1", "v9 event,v8 event,v6 default", []string{"1,5,a5"}, []string{"1: 1,4,a4", "2: 1,3,a3"}, []string{"1,5,a5@000"}},
	{"negative ordering values (G7)", "v8 event,v9 event,v6 default", []string{"1,-5,a", "2,0,a", "3,-1,a"}, []string{"1: 1,-7,b; 2,-1,b; del 3@0"}, []string{"1,-5,a@000", "2,0,a@000"}},

	// Deletes with ordering values.
	{"stale delete", "v8 event,v9 event", []string{"a,100,x"}, []string{"1: del a@10"}, []string{"a,100,x@000"}},
	{"stale delete, by payload", "v6 default,v6 overwrite,v6 eventtime,v8 eventtime", []string{"a,100,x"}, []string{"1: del a@10"}, nil},
	{"delete ties with base", "v8 event,v9 event", []string{"a,100,x"}, []string{"1: del a@100"}, nil},
	{"stale delete over a logged row", "v8 event,v9 event,v6 default,v6 overwrite,v6 partial,v8 partial", nil, []string{"1: a,100,x", "2: del a@10"}, []string{"a,100,x@1"}},
	{"delete over a logged row, commit time", "v8 commit,v9 commit", nil, []string{"1: a,100,x", "2: del a@10"}, nil},
	{"row behind a delete with a larger value", "v8 event,v9 event,v8 eventtime,v8 partial", []string{"a,1,x"}, []string{"1: del a@300", "2: a,200,y"}, nil},
	{"row behind a delete with a larger value, v6", "v6 default,v6 overwrite,v6 partial", nil, []string{"1: del a@300", "2: a,200,y"}, []string{"a,200,y@2"}},
	{"row behind a delete without one", "v9 event,v8 event,v6 overwrite,v8 commit,v9 commit", []string{"a,1,x"}, []string{"1: del a", "2: a,2,y"}, []string{"a,2,y@2"}},
	{"two deletes, then a row", "v9 event,v8 event", nil, []string{"1: del a", "2: del a@300", "3: a,2,y"}, []string{"a,2,y@3"}},
	{"flagged row that is late", "v9 event,v8 event,v6 default,v8 eventtime", []string{"a,100,x"}, []string{"1: a,5,q,_hoodie_is_deleted=true"}, []string{"a,100,x@000"}},

	// Several ordering fields (G8).
	{"two ordering fields", "v9 event two", nil, []string{"1: a,5,x,n=2; b,5,x,n=9; c,5,x,n=1", "2: a,5,y,n=1; b,6,y,n=0; c,5,y,n=3"}, []string{"a,5,x,n=2@1", "b,6,y,n=0@2", "c,5,y,n=3@2"}},

	// Null ordering values (G6) never mix types.
	{"null ordering in base", "v9 event,v8 event,v6 default", []string{"a,null,a"}, []string{"1: a,5,b"}, []string{"a,5,b@1"}},
	{"null ordering late", "v9 event,v8 event,v6 default", []string{"a,5,a"}, []string{"1: a,null,c"}, []string{"a,5,a@000"}},

	// Partial update blocks (G11).
	{"partial block", "v8 commit,v9 commit,v9 event,v8 event", []string{"a,1,name,n=5"}, []string{"1: partial ts v; a,2,new"}, []string{"a,2,new,n=5@1"}},
	{"assigned null overwrites", "v8 commit,v9 event", []string{"a,1,name,n=5"}, []string{"1: partial ts v; a,2,null"}, []string{"a,2,n=5@1"}},
	{"late partial against base changes nothing", "v9 event,v8 event", []string{"a,10,name"}, []string{"1: partial ts v; a,5,x"}, []string{"a,10,name@000"}},
	{"two partial blocks, the later one late", "v9 event,v8 event", []string{"a,10,name,n=5"}, []string{"1: partial ts n; a,20,n=100", "2: partial ts v; a,15,late"}, []string{"a,20,late,n=100@1"}},
	{"logs merge before the base is looked at", "v9 event,v8 event", []string{"a,10,base"}, []string{"1: partial ts n; a,5,n=200", "2: partial ts v; a,30,x"}, []string{"a,30,x,n=200@2"}},
	{"partial over a logged row", "v9 event,v9 commit", nil, []string{"1: a,1,x,n=3", "2: partial ts v; a,2,y"}, []string{"a,2,y,n=3@2"}},
	{"full row over partial", "v9 event,v9 commit", []string{"a,1,x,n=3"}, []string{"1: partial ts v; a,2,y", "2: a,3,z,n=9"}, []string{"a,3,z,n=9@2"}},
	{"delete over partial", "v9 event,v9 commit", []string{"a,1,x"}, []string{"1: partial ts v; a,2,y", "2: del a"}, nil},

	// Fields taken for not set.
	{"non-defaults", "v6 nondefaults,v8 nondefaults,v9 nondefaults", []string{"a,1,keep,n=3"}, []string{"1: a,2,null,n=7"}, []string{"a,2,keep,n=3@1"}},
	{"non-defaults among logs", "v6 nondefaults,v8 nondefaults", nil, []string{"1: a,1,gone,n=3", "2: a,2,null"}, []string{"a,2@2"}},
	{"non-defaults among logs, by mode", "v9 nondefaults", nil, []string{"1: a,1,kept,n=3", "2: a,2,null"}, []string{"a,2,kept,n=3@2"}},
	{"partial update", "v6 partial,v8 partial,v9 partial", []string{"a,1,keep,n=3"}, []string{"1: a,2,null,n=4"}, []string{"a,2,keep,n=4@1"}},
	{"partial update among logs", "v6 partial,v8 partial,v9 partial", nil, []string{"1: a,1,keep", "2: a,2,null,n=4"}, []string{"a,2,keep,n=4@2"}},
	{"late partial update fills", "v9 partial", []string{"a,10,null,n=3"}, []string{"1: a,5,late,n=4"}, []string{"a,10,late,n=3@000"}},
	{"late partial update fills, by payload", "v6 partial,v8 partial", []string{"a,10,null,n=3"}, []string{"1: a,5,late,n=4"}, []string{"a,10,late,n=3@1"}},
	{"late partial update that adds nothing", "v9 partial", []string{"a,10,x,n=3"}, []string{"1: a,5,late,n=4"}, []string{"a,10,x,n=3@000"}},
	{"unavailable value", "v9 unavailable", []string{"a,1,keep"}, []string{"1: a,2,__none,n=4"}, []string{"a,2,keep,n=4@1"}},
	{"unavailable value in the base row", "v9 unavailable", []string{"a,10,__none"}, []string{"1: a,2,late,n=4"}, []string{"a,10,late@000"}},

	// Delete markers.
	{"DMS, any case", "v6 dms,v8 dms", []string{"a,1,x", "b,1,x", "c,1,x"}, []string{"1: a,2,x,Op=D; b,2,x,Op=d; c,2,y,Op=U; e,1,x,Op=D"}, []string{"c,2,y,Op=U@1"}},
	{"marker, exact", "v9 marker", []string{"a,1,x", "b,1,x"}, []string{"1: a,2,x,Op=D; b,2,y,Op=d"}, []string{"b,2,y,Op=d@1"}},
	{"marker in a number column", "v9 event marker", []string{"a,1,x", "b,5,x"}, []string{"1: a,2,x,n=99; b,2,x,n=99"}, []string{"b,5,x@000"}},
	{"everything that arrives is a delete", "v6 empty", []string{"a,1,x", "b,1,y"}, []string{"1: a,2,z"}, []string{"b,1,y@000"}},

	// Debezium.
	{"MySQL, numeric against the base", "v6 mysql,v8 mysql", []string{"a,1,x,_event_seq=9.999"}, []string{"1: a,1,y,_event_seq=10.5"}, []string{"a,1,y,_event_seq=10.5@1"}},
	{"MySQL, equal stays", "v6 mysql,v8 mysql", []string{"a,1,x,_event_seq=10.5"}, []string{"1: a,1,y,_event_seq=10.5"}, []string{"a,1,x,_event_seq=10.5@000"}},
	{"MySQL, text among logs", "v6 mysql", nil, []string{"1: a,1,x,_event_seq=9.999", "2: a,1,y,_event_seq=10.5"}, []string{"a,1,x,_event_seq=9.999@1"}},
	{"MySQL, numbers among logs", "v8 mysql", nil, []string{"1: a,1,x,_event_seq=9.999", "2: a,1,y,_event_seq=10.5"}, []string{"a,1,y,_event_seq=10.5@2"}},
	{"MySQL delete", "v6 mysql,v8 mysql", []string{"a,1,x,_event_seq=1.1", "b,1,x,_event_seq=3.1"}, []string{"1: a,1,x,_event_seq=1.2,_change_operation_type=d; b,1,x,_event_seq=2.2,_change_operation_type=d"}, []string{"b,1,x,_event_seq=3.1@000"}},
	{"MySQL, base without a place", "v6 mysql,v8 mysql", []string{"a,1,x"}, []string{"1: a,1,y,_event_seq=1.1"}, []string{"a,1,y,_event_seq=1.1@1"}},
	{"Postgres", "v6 postgres,v8 postgres", []string{"a,1,x,_event_lsn=10", "b,1,x,_event_lsn=10", "c,1,x,_event_lsn=10"},
		[]string{"1: a,1,y,_event_lsn=9; b,1,__debezium_unavailable_value,n=4,_event_lsn=10; c,1,y,_event_lsn=11,_change_operation_type=d"},
		[]string{"a,1,x,_event_lsn=10@000", "b,1,x,n=4,_event_lsn=10@1"}},

	// Keys that come twice.
	{"key twice in the base file", "v8 event,v9 event,v8 commit,v9 commit", []string{"a,1,x", "a,1,y", "b,1,z"}, []string{"1: a,2,new"}, []string{"a,2,new@1", "a,2,new@1", "b,1,z@000"}},
	{"key twice in the base file, deleted", "v9 event,v9 commit", []string{"a,1,x", "a,1,y"}, []string{"1: del a"}, nil},
	{"key twice in the base file, v6", "v6 overwrite,v6 default", []string{"a,1,x", "a,1,y"}, []string{"1: a,2,new"}, []string{"a,2,new@1", "a,1,y@000"}},
	{"key twice in a block", "v9 event,v9 commit,v6 overwrite", nil, []string{"1: a,2,x; a,2,y"}, []string{"a,2,y@1"}},

	// Blocks in force.
	{"rolled back", "v6 overwrite", []string{"a,1,x"}, []string{"1: a,2,gone", "2: a,3,y", "3: rollback 1"}, []string{"a,3,y@2"}},
	{"rolled back wherever it stands before", "v6 overwrite", []string{"a,1,x"}, []string{"1: a,2,gone; del b", "2: b,3,y", "1: a,5,gone", "4: rollback 1"}, []string{"a,1,x@000", "b,3,y@2"}},
	{"rolled back, then written again", "v6 overwrite", []string{"a,1,x"}, []string{"1: a,2,gone", "2: rollback 1", "3: a,3,y"}, []string{"a,3,y@3"}},
	{"uncommitted", "*", []string{"a,1,x"}, []string{"bad: a,9,gone; del a"}, []string{"a,1,x@000"}},
	{"log compaction", "v9 event,v6 overwrite", nil, []string{"1: a,1,x", "2: b,1,x", "3: compacts 1,2; a,1,x; b,1,x", "4: a,2,y"}, []string{"a,2,y@4", "b,1,x@3"}},
	{"log compaction of a log compaction", "v9 commit", nil, []string{"1: a,1,1", "2: a,1,2", "3: compacts 1,2; a,1,12", "4: a,1,4", "5: compacts 3,4; a,1,1234", "6: b,1,6"}, []string{"a,1,1234@5", "b,1,6@6"}},
	{"log compaction stands where its originals stood", "v9 commit", nil, []string{"1: a,1,1", "3: a,1,later", "2: compacts 1; a,1,first"}, []string{"a,1,later@3"}},
	{"log compaction that is not committed", "v9 commit", nil, []string{"1: a,1,1", "bad: compacts 1; a,1,gone"}, []string{"a,1,1@1"}},
	{"more than ten logs keep their order", "v9 event", []string{"a,7,0"}, []string{"1: a,7,1", "2: a,7,2", "3: a,7,3", "4: a,7,4", "5: a,7,5", "6: a,7,6", "7: a,7,7", "8: a,7,8", "9: a,7,9", "10: a,7,10", "11: a,7,11"}, []string{"a,7,11@11"}},
}

func TestMergeRules(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range cases {
		names := strings.Split(c.rules, ",")
		if c.rules == "*" {
			names = names[:0]
			for n := range rules {
				if n != "v6 empty" || strings.Contains(c.name, "delete") && !strings.Contains(c.name, "is no delete") {
					names = append(names, n)
				}
			}
		}
		for _, rule := range names {
			t.Run(c.name+"/"+rule, func(t *testing.T) {
				f := ruleFixture(t, rule)
				with := func(_, _ string, items []string) []string { return items }
				if c.rules == "*" {
					with = changeData
				}
				in := SliceInput{Schema: f.schema, Config: f.cfg, BaseInstant: "000", Valid: func(t string) bool { return t != "bad" }, TempDir: t.TempDir()}
				if c.base != nil {
					in.Base = f.base(with(rule, "1", c.base)...)
				}
				var bs []string
				for i, b := range c.log {
					bs = append(bs, with(rule, fmt.Sprint(i+2), []string{b})...)
				}
				in.Logs = []Log{logOf("one.log", f.log(bs...))}
				got, _, err := merged(t, in)
				if err != nil {
					t.Fatal(err)
				}
				want := strings.Join(c.want, "\n")
				if g := stripChangeData(c.rules, strings.Join(got, "\n")); g != want {
					t.Errorf("rows\n%s\nwant\n%s", g, want)
				}
			})
			seen[rule] = true
		}
	}
	for rule := range rules {
		if !seen[rule] {
			t.Errorf("no case runs under %s", rule)
		}
	}
}

// changeData gives rows of the Debezium rules, which look at columns of their own, those columns where a case for every rule does not.
func changeData(rule, at string, items []string) []string {
	var column string
	switch {
	case strings.HasSuffix(rule, "mysql"):
		column = ",_event_seq=" + at + ".1"
	case strings.HasSuffix(rule, "postgres"):
		column = ",_event_lsn=" + at
	default:
		return items
	}
	var out []string
	for _, item := range items {
		instant, rest, block := strings.Cut(item, ": ")
		if !block {
			rest = item
		}
		parts := strings.Split(rest, "; ")
		for i, p := range parts {
			word, _, _ := strings.Cut(p, " ")
			if word == p && !strings.Contains(p, "_event_") {
				parts[i] += column
			}
		}
		rest = strings.Join(parts, "; ")
		if block {
			rest = instant + ": " + rest
		}
		out = append(out, rest)
	}
	return out
}

// stripChangeData takes out what changeData added.
func stripChangeData(rules, rows string) string {
	if rules != "*" {
		return rows
	}
	var b strings.Builder
	for len(rows) > 0 {
		i := strings.Index(rows, ",_event_")
		if i < 0 {
			b.WriteString(rows)
			break
		}
		b.WriteString(rows[:i])
		rows = rows[i+1:]
		rows = rows[strings.IndexAny(rows, ",@"):]
	}
	return b.String()
}

func TestUnknownRulesAreRefused(t *testing.T) {
	s := mustSchema(t, sampleFields).WithMetaFields()
	for name, c := range map[string]struct {
		cfg  *tableconfig.Config
		want string
	}{
		"payload class v6": {config(t, 6, "hoodie.compaction.payload.class=com.example.MyPayload"), "com.example.MyPayload"},
		"payload class v8": {config(t, 8, "hoodie.record.merge.mode=CUSTOM", "hoodie.compaction.payload.class=com.example.MyPayload", "hoodie.record.merge.strategy.id="+tableconfig.StrategyPayloadClass), "com.example.MyPayload"},
		"strategy":         {config(t, 9, "hoodie.record.merge.mode=CUSTOM", "hoodie.record.merge.strategy.id=1897ef5f-18bc-4557-939c-9d6a8afd1519"), "1897ef5f-18bc-4557-939c-9d6a8afd1519"},
		"nothing named":    {config(t, 9, "hoodie.record.merge.mode=CUSTOM"), "CUSTOM"},
		"partial mode":     {config(t, 9, "hoodie.record.merge.mode=EVENT_TIME_ORDERING", "hoodie.table.partial.update.mode=FILL_SOMEHOW"), "FILL_SOMEHOW"},
		"metadata table":   {config(t, 6, "hoodie.compaction.payload.class="+tableconfig.PayloadMetadata), "metadata table"},
	} {
		_, err := ForTable(c.cfg, s)
		if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want a refusal that names %s", name, err, c.want)
		}
	}
}

// TestPartialInsertOfRequired: a partial update without a base row has nulls where it says nothing, but not where null is forbidden.
func TestPartialInsertOfRequired(t *testing.T) {
	f := ruleFixture(t, "v9 event")
	in := SliceInput{Schema: f.schema, Config: f.cfg, Logs: []Log{logOf("l", f.log("1: partial ts v; a,2,y"))}}
	if _, _, err := merged(t, in); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("partial update of a missing key: %v, want an error that names it", err)
	}
	f.schema = mustSchema(t, strings.Replace(strings.Replace(sampleFields, `"type":"int","default":7`, `"type":["null","int"],"default":null`, 1), `"type":"string"`, `"type":["null","string"],"default":null`, 1)).WithMetaFields()
	in.Schema = f.schema
	in.Logs = []Log{logOf("l", f.log("1: partial ts v; a,2,y"))}
	got, _, err := merged(t, in)
	if want := []string{"2,y@1"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("partial update of a missing key: %v, %v, want %v", got, err, want)
	}
}
