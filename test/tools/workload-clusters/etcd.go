package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// member of a cluster's etcd.
type member struct {
	id      uint64
	node    string
	serving *tls.Certificate
	// removed members are asked for until their server is gone.
	removed bool
}

// addMember for a node; the first one leads.
func (w *world) addMember(c *cluster, node string) error {
	host, _, err := net.SplitHostPort(c.spec.Address)
	if err != nil {
		return fmt.Errorf("cannot read the address of a cluster: %w", err)
	}
	name := "etcd-" + node
	serving, err := w.certificate(c.spec.EtcdCA, name, host)
	if err != nil {
		return err
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.members[name] != nil {
		return nil
	}
	m := &member{id: uint64(h.Sum32() | 1), node: node, serving: serving}
	if len(c.members) == 0 {
		c.leader = m.id
	}
	c.members[name] = m
	return nil
}

// dropMember of a node that is gone. Somebody must lead.
func (c *cluster) dropMember(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.members["etcd-"+node]
	if m == nil {
		return
	}
	delete(c.members, "etcd-"+node)
	c.elect(m)
}

// elect another leader if the one that goes leads. The lock must be held.
func (c *cluster) elect(goes *member) {
	if c.leader != goes.id {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.members)) {
		if m := c.members[name]; m != goes && !m.removed {
			c.leader = m.id
			return
		}
	}
}

// etcd answers what Cluster API asks the members of etcd: who they are, who
// leads, and to let one of them go.
type etcd struct {
	pb.UnimplementedClusterServer
	pb.UnimplementedMaintenanceServer

	w *world
}

func newEtcd(w *world) http.Handler {
	server, e := grpc.NewServer(), &etcd{w: w}
	pb.RegisterClusterServer(server, e)
	pb.RegisterMaintenanceServer(server, e)
	return server
}

// asked returns the cluster and the member that a request is for.
func (e *etcd) asked(ctx context.Context) (*cluster, *member, error) {
	name, err := e.w.at(fmt.Sprint(ctx.Value(http.LocalAddrContextKey)))
	if err != nil {
		return nil, nil, err
	}
	c, err := e.w.cluster(name)
	if err != nil {
		return nil, nil, err
	}
	md, _ := metadata.FromIncomingContext(ctx)
	authority := strings.Join(md.Get(":authority"), "")
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.members[authority]
	if m == nil || m.removed {
		return nil, nil, fmt.Errorf("no member %q", authority)
	}
	return c, m, nil
}

func header(m *member) *pb.ResponseHeader {
	return &pb.ResponseHeader{ClusterId: 1, MemberId: m.id}
}

// MemberList returns all members.
func (e *etcd) MemberList(ctx context.Context, _ *pb.MemberListRequest) (*pb.MemberListResponse, error) {
	c, m, err := e.asked(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out := &pb.MemberListResponse{Header: header(m)}
	for _, m := range c.members {
		if !m.removed {
			out.Members = append(out.Members, &pb.Member{ID: m.id, Name: m.node})
		}
	}
	slices.SortFunc(out.Members, func(a, b *pb.Member) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return out, nil
}

// MemberRemove lets a member go.
func (e *etcd) MemberRemove(ctx context.Context, req *pb.MemberRemoveRequest) (*pb.MemberRemoveResponse, error) {
	c, m, err := e.asked(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, goes := range c.members {
		if goes.id == req.GetID() {
			goes.removed = true
			c.elect(goes)
			return &pb.MemberRemoveResponse{Header: header(m)}, nil
		}
	}
	return nil, errors.New("no such member")
}

// Status tells who leads.
func (e *etcd) Status(ctx context.Context, _ *pb.StatusRequest) (*pb.StatusResponse, error) {
	c, m, err := e.asked(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return &pb.StatusResponse{Header: header(m), Version: "3.6.0", Leader: c.leader}, nil
}

// Alarm: there is none.
func (e *etcd) Alarm(ctx context.Context, _ *pb.AlarmRequest) (*pb.AlarmResponse, error) {
	_, m, err := e.asked(ctx)
	if err != nil {
		return nil, err
	}
	return &pb.AlarmResponse{Header: header(m)}, nil
}

// MoveLeader lets another member lead.
func (e *etcd) MoveLeader(ctx context.Context, req *pb.MoveLeaderRequest) (*pb.MoveLeaderResponse, error) {
	c, m, err := e.asked(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leader = req.GetTargetID()
	return &pb.MoveLeaderResponse{Header: header(m)}, nil
}
