// Command bench measures RunFunction through real gRPC on loopback, beside a
// floor: a function that does nothing but decode the same request and encode the
// same response. Machines differ, so what counts is the ratio of the two in one
// run. The budgets are in budget_test.go.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/crossplane/function-sdk-go/logging"

	"github.com/l2cluster/function-l2cluster/fn/function"
)

// sizes of the report, the smallest first.
func sizes() []size {
	return []size{{3, 2, 4}, {3, 25, 4}, {3, 250, 4}, {3, 1000, 4}}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := report(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// served is the function as it is served, except that its clock stands still.
func served() *function.Function {
	at, err := time.Parse(time.RFC3339, then)
	if err != nil {
		panic(err)
	}
	return function.New(logging.NewNopLogger(), func() time.Time { return at.Add(time.Hour) })
}

// report measures clusters of all sizes and prints a line for each as soon as it
// is there.
func report(ctx context.Context, out io.Writer) error {
	const line = "%-28s %12s %12s %10s %10s %6s %12s %12s %12s\n"
	if _, err := fmt.Fprintf(out, line, "cluster", "request", "response", "function", "floor", "ratio", "allocations", "allocated", "floor's"); err != nil {
		return fmt.Errorf("cannot print the report: %w", err)
	}
	for _, s := range sizes() {
		c, err := settle(ctx, served(), s)
		if err != nil {
			return err
		}
		m, err := measure(ctx, served(), c)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, line, s, mebi(m.requestBytes), mebi(m.responseBytes),
			milli(m.function.median), milli(m.floor.median), fmt.Sprintf("%.2f", m.ratio()),
			strconv.Itoa(m.function.mallocs), mebi(m.function.allocated), mebi(m.floor.allocated)); err != nil {
			return fmt.Errorf("cannot print the report: %w", err)
		}
	}
	return nil
}

func milli(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }

func mebi(bytes int) string { return fmt.Sprintf("%.2f MiB", float64(bytes)/(1<<20)) }
