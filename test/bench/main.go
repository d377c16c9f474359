// Command bench measures RunFunction through real gRPC on loopback, beside a
// floor: a function that does nothing but decode the same request and encode the
// same response. Machines differ, so what counts is the ratio of the two in one
// run. The budgets are in budget_test.go.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"text/tabwriter"
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
	defer stop()
	if err := report(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// real is the function as it is served, except that its clock stands still.
func real() *function.Function {
	at, err := time.Parse(time.RFC3339, then)
	if err != nil {
		panic(err)
	}
	return function.New(logging.NewNopLogger(), func() time.Time { return at.Add(time.Hour) })
}

func report(ctx context.Context) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "cluster\trequest\tresponse\tfunction\tfloor\tratio\tallocations\tallocated\tfloor's\t")
	for _, s := range sizes() {
		c, err := settle(ctx, real(), s)
		if err != nil {
			return err
		}
		m, err := measure(ctx, real(), c)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.2f\t%d\t%s\t%s\t\n", s,
			mebi(m.requestBytes), mebi(m.responseBytes),
			m.function.median.Round(10*time.Microsecond), m.floor.median.Round(10*time.Microsecond), m.ratio(),
			m.function.mallocs, mebi(m.function.allocated), mebi(m.floor.allocated))
	}
	return w.Flush()
}

func mebi(bytes int) string { return fmt.Sprintf("%.2f MiB", float64(bytes)/(1<<20)) }
