package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// largest message, in bytes; the same for both.
const largest = 64 << 20

// Both are called at least leastCalls times, and as long as they take no more
// than enough together, up to mostCalls times.
const (
	leastCalls = 7
	mostCalls  = 200
	enough     = 2 * time.Second
)

// sample of many calls of one function.
type sample struct {
	median time.Duration
	// mallocs and allocated bytes of one call, both ends of the connection
	// together.
	mallocs, allocated int
}

// measurement of the function and its floor.
type measurement struct {
	requestBytes, responseBytes int
	function, floor             sample
}

// ratio of the function's time to that of the floor.
func (m measurement) ratio() float64 {
	return float64(m.function.median) / float64(m.floor.median)
}

// floor answers every request with the same response.
type floor struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	response *fnv1.RunFunctionResponse
}

// RunFunction returns the response that was recorded.
func (f floor) RunFunction(context.Context, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	return f.response, nil
}

// measure the function and the floor with a recorded call. They take turns, so
// that whatever else the machine does hits both.
func measure(ctx context.Context, fn fnv1.FunctionRunnerServiceServer, c call) (measurement, error) {
	request, err := proto.Marshal(c.request)
	if err != nil {
		return measurement{}, fmt.Errorf("cannot encode the request: %w", err)
	}
	out := measurement{requestBytes: len(request), responseBytes: proto.Size(c.response)}

	ours, stopOurs, err := serve(ctx, fn)
	if err != nil {
		return measurement{}, err
	}
	defer stopOurs()
	theirs, stopTheirs, err := serve(ctx, floor{response: c.response})
	if err != nil {
		return measurement{}, err
	}
	defer stopTheirs()

	ends := [2]*grpc.ClientConn{ours, theirs}
	var times [2][]time.Duration
	for _, conn := range ends {
		if _, err := once(ctx, conn, request); err != nil {
			return measurement{}, err
		}
	}
	for start := time.Now(); len(times[0]) < leastCalls || time.Since(start) < enough && len(times[0]) < mostCalls; {
		for i, conn := range ends {
			d, err := once(ctx, conn, request)
			if err != nil {
				return measurement{}, err
			}
			times[i] = append(times[i], d)
		}
	}
	for i, s := range []*sample{&out.function, &out.floor} {
		slices.Sort(times[i])
		s.median = times[i][len(times[i])/2]
		if s.mallocs, s.allocated, err = allocations(ctx, ends[i], request); err != nil {
			return measurement{}, err
		}
	}
	return out, nil
}

// allocations of one call.
func allocations(ctx context.Context, conn *grpc.ClientConn, request []byte) (mallocs, bytes int, err error) {
	const calls = 3
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range calls {
		if _, err := once(ctx, conn, request); err != nil {
			return 0, 0, err
		}
	}
	runtime.ReadMemStats(&after)
	return int(after.Mallocs-before.Mallocs) / calls, int(after.TotalAlloc-before.TotalAlloc) / calls, nil
}

// once calls the function at the other end and says how long that took.
func once(ctx context.Context, conn *grpc.ClientConn, request []byte) (time.Duration, error) {
	var response []byte
	start := time.Now()
	err := conn.Invoke(ctx, fnv1.FunctionRunnerService_RunFunction_FullMethodName, &request, &response, grpc.ForceCodecV2(raw{}))
	took := time.Since(start)
	if err != nil {
		return 0, fmt.Errorf("cannot call the function: %w", err)
	}
	if len(response) == 0 {
		return 0, errors.New("the function answered nothing")
	}
	return took, nil
}

// serve a function on loopback and connect to it.
func serve(ctx context.Context, fn fnv1.FunctionRunnerServiceServer) (*grpc.ClientConn, func(), error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("cannot listen on loopback: %w", err)
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(largest))
	fnv1.RegisterFunctionRunnerServiceServer(server, fn)
	go func() { _ = server.Serve(listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largest), grpc.MaxCallSendMsgSize(largest)))
	if err != nil {
		server.Stop()
		return nil, nil, fmt.Errorf("cannot connect to %q: %w", listener.Addr(), err)
	}
	return conn, func() { _ = conn.Close(); server.Stop() }, nil
}

// raw passes encoded messages through on the caller's side, so that only the
// function's own decoding and encoding is measured.
type raw struct{}

var _ encoding.CodecV2 = raw{}

// Marshal returns the bytes as they are.
func (raw) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("cannot send a %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(*b)}, nil
}

// Unmarshal keeps the bytes as they are.
func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("cannot receive into a %T", v)
	}
	*b = data.Materialize()
	return nil
}

// Name of the codec that the server answers with.
func (raw) Name() string { return "proto" }
