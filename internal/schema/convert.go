package schema

import (
	"errors"
	"fmt"
)

// Convert says how values of from become values of to, nullability aside. It fails where that cannot be done truthfully (data.md §12.2,
// §12.4). Both types are primitive.
func Convert(to, from *Type) (Conversion, error) {
	switch {
	case from.Logical == Decimal || to.Logical == Decimal:
		return convertDecimal(to, from)
	case to.Kind == String:
		return convertToString(to, from)
	case to.Kind == from.Kind:
		return convertSameKind(to, from)
	}
	switch from.Kind {
	case Int:
		return convertInt(to, from)
	case Long:
		if from.Logical == NoLogical && to.Kind == Float {
			return LongToFloat, nil
		}
		if from.Logical == NoLogical && to.Kind == Double {
			return LongToDouble, nil
		}
	case Float:
		if to.Kind == Double {
			return FloatToDouble, nil
		}
	case String:
		return convertFromString(to, from)
	case Fixed:
		if to.Kind == Bytes {
			return FixedToBytes, nil
		}
	}
	return Same, mismatch(to, from)
}

func mismatch(to, from *Type) error {
	return fmt.Errorf("%s cannot be read as %s", from.describe(), to.describe())
}

// describe names a type for messages.
func (t *Type) describe() string {
	switch {
	case t.Logical == Decimal:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	case t.Logical != NoLogical:
		return t.Kind.String() + " (" + t.Logical.String() + ")"
	case t.Kind == Fixed:
		return fmt.Sprintf("fixed(%d)", t.Size)
	}
	return t.Kind.String()
}

func convertInt(to, from *Type) (Conversion, error) {
	switch {
	case from.Logical == TimeMillis && to.Logical == TimeMicros:
		return MillisToMicros, nil
	case to.Kind == Long && to.Logical == NoLogical:
		return IntToLong, nil
	case from.Logical != NoLogical:
	case to.Kind == Long && to.Logical != TimeMicros:
		return IntToLong, nil
	case to.Kind == Float:
		return IntToFloat, nil
	case to.Kind == Double:
		return IntToDouble, nil
	}
	return Same, mismatch(to, from)
}

func convertToString(to, from *Type) (Conversion, error) {
	switch from.Kind {
	case String, Enum:
		return Same, nil
	case Bytes:
		return BytesToString, nil
	case Fixed:
		if from.Logical != UUID {
			return Same, mismatch(to, from)
		}
	}
	return ToString, nil
}

func convertFromString(to, from *Type) (Conversion, error) {
	switch {
	case to.Kind == Bytes:
		return StringToBytes, nil
	case to.Kind == Enum:
		return Same, nil // a symbol that the enum lacks is found where it is used
	case to.Logical == Date:
		return StringToDate, nil
	}
	return Same, mismatch(to, from)
}

// unit is the power of ten of a second that a time's number counts, 0 for other types.
func (l Logical) unit() int {
	switch l {
	case TimestampMillis, LocalTimestampMillis, TimeMillis:
		return 3
	case TimestampMicros, LocalTimestampMicros, TimeMicros:
		return 6
	case TimestampNanos, LocalTimestampNanos:
		return 9
	}
	return 0
}

func convertSameKind(to, from *Type) (Conversion, error) {
	if to.Kind == Fixed && to.Size != from.Size {
		return Same, mismatch(to, from)
	}
	// Avro ties a logical type to its bytes alone: a long read as a timestamp is that timestamp, and the other way round.
	a, b := from.Logical.unit(), to.Logical.unit()
	if a == b || a == 0 || b == 0 {
		return Same, nil
	}
	if (from.Logical == TimeMicros) != (to.Logical == TimeMicros) {
		return Same, mismatch(to, from)
	}
	return map[[2]int]Conversion{
		{3, 6}: MillisToMicros, {6, 3}: MicrosToMillis, {6, 9}: MicrosToNanos, {9, 6}: NanosToMicros, {3, 9}: MillisToNanos, {9, 3}: NanosToMillis,
	}[[2]int{a, b}], nil
}

func convertDecimal(to, from *Type) (Conversion, error) {
	switch {
	case from.Logical == Decimal && to.Logical == Decimal:
		if from.Kind == to.Kind && from.Size == to.Size && from.Scale == to.Scale && from.Precision <= to.Precision {
			return Same, nil
		}
		return Rescale, nil // a value that does not fit is found where it is used
	case to.Logical == Decimal:
		switch from.Kind {
		case Int, Long:
			if from.Logical == NoLogical {
				return ToDecimal, nil
			}
		case Float, Double, String:
			return ToDecimal, nil
		case Bytes:
			if to.Kind == Bytes {
				return Same, nil
			}
		case Fixed:
			if to.Kind == Fixed && to.Size == from.Size {
				return Same, nil
			}
		}
	case to.Kind == String:
		return ToString, nil
	case to.Kind == from.Kind && to.Size == from.Size:
		return Same, nil
	}
	return Same, mismatch(to, from)
}

var errNoDefault = errors.New("the file lacks the field, and it is neither nullable nor has it a default")
