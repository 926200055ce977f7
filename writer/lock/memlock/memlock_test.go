package memlock

import (
	"testing"

	"github.com/hudifs/hudifs/writer/lock"
	"github.com/hudifs/hudifs/writer/lock/locktest"
)

func TestTable(t *testing.T) {
	locktest.Run(t, func(*testing.T) lock.Provider { return &Table{} })
}
