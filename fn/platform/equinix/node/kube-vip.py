#!/usr/bin/env python3
"""Lets kube-vip announce the control plane's endpoint over BGP.

The address stands in /etc/l2cluster/endpoint, the image and the metadata
service in /etc/l2cluster/kube-vip.json. A second run changes nothing.

  l2cluster-kube-vip first    before kubeadm: reach the BGP peers and, where
                              the cluster starts, run kube-vip
  l2cluster-kube-vip keep     after kubeadm: run kube-vip, and reach the peers
                              at every boot
  l2cluster-kube-vip routes   reach the peers
"""
import ipaddress
import json
import os
import subprocess
import sys
import time
import urllib.request

# Tests run the script on a folder, with no patience.
ROOT = os.environ.get("L2CLUSTER_ROOT", "")
TRIES = int(os.environ.get("L2CLUSTER_TRIES", "60"))
PAUSE = float(os.environ.get("L2CLUSTER_PAUSE", "5"))
MANIFEST = ROOT + "/etc/kubernetes/manifests/l2cluster-kube-vip.yaml"


def fail(message):
    sys.exit("l2cluster-kube-vip: " + message)


def read(path):
    with open(ROOT + path, encoding="utf-8") as f:
        return f.read().strip()


def metadata(url):
    """The server's metadata, once it has a BGP session for IPv4."""
    problem = ""
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE)
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                found = json.load(answer)
        except (OSError, ValueError) as error:
            problem = str(error)
            continue
        neighbors = [n for n in found.get("bgp_neighbors") or [] if n.get("address_family") == 4]
        if neighbors and neighbors[0].get("peer_ips"):
            return found, neighbors[0]
        problem = "the server has no BGP session for IPv4 yet"
    return fail(url + ": " + problem)


def routes(found, neighbor):
    """The peers answer behind the gateway of the server's private block."""
    gateways = [
        a["gateway"] for a in found["network"]["addresses"]
        if a.get("address_family") == 4 and not a.get("public") and a.get("gateway")
    ]
    if not gateways:
        fail("the server has no private IPv4 gateway")
    for peer in neighbor["peer_ips"]:
        subprocess.run(["ip", "route", "replace", peer + "/32", "via", gateways[0]], check=True)


def pull(image):
    """kubeadm gives the endpoint little time to answer, so the image comes
    before. Without it the kubelet still tries by itself."""
    for _ in range(min(3, TRIES)):
        try:
            if subprocess.run(["crictl", "pull", image], timeout=300, check=False).returncode == 0:
                return
        except (OSError, subprocess.TimeoutExpired) as error:
            print("l2cluster-kube-vip:", error, file=sys.stderr)
        time.sleep(PAUSE)


def peers(neighbor):
    password = (neighbor.get("md5_password") or "") if neighbor.get("md5_enabled") else ""
    if any(c in password for c in ",:/"):
        fail("kube-vip takes no BGP password with a comma, colon or slash")
    multihop = "true" if neighbor.get("multihop") else "false"
    parts = [":".join([p, str(neighbor["peer_as"]), password, multihop]) for p in neighbor["peer_ips"]]
    return ",".join(parts)


def pod(image, endpoint, neighbor):
    """kube-vip needs no leader here: every server announces the endpoint."""
    environment = dict(
        vip_arp="false", vip_interface="lo", vip_cidr="32", vip_subnet="32", port="6443",
        cp_enable="true", cp_namespace="kube-system", bgp_enable="true",
        bgp_routerid=neighbor["customer_ip"], bgp_as=str(neighbor["customer_as"]),
        bgp_peers=peers(neighbor), address=endpoint,
    )
    container = dict(
        name="kube-vip", image=image, imagePullPolicy="IfNotPresent", args=["manager"],
        env=[dict(name=k, value=v) for k, v in sorted(environment.items())],
        securityContext=dict(capabilities=dict(add=["NET_ADMIN", "NET_RAW"])),
        volumeMounts=[dict(name="kubeconfig", mountPath="/etc/kubernetes/admin.conf")],
    )
    return dict(
        apiVersion="v1", kind="Pod", metadata=dict(name="kube-vip", namespace="kube-system"),
        spec=dict(
            containers=[container], hostNetwork=True, priorityClassName="system-node-critical",
            hostAliases=[dict(ip="127.0.0.1", hostnames=["kubernetes"])],
            volumes=[dict(name="kubeconfig", hostPath=dict(path="/etc/kubernetes/admin.conf"))],
        ),
    )


def run(image, endpoint, neighbor):
    """Put the manifest in place whole: the kubelet watches the folder."""
    os.makedirs(os.path.dirname(MANIFEST), exist_ok=True)
    part = ROOT + "/etc/kubernetes/l2cluster-kube-vip.part"
    with open(part, "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o600)) as f:
        json.dump(pod(image, endpoint, neighbor), f, indent=1, sort_keys=True)
    os.replace(part, MANIFEST)


def main(order):
    if order not in ("first", "keep", "routes"):
        fail("unknown order: " + order)
    config = json.loads(read("/etc/l2cluster/kube-vip.json"))
    found, neighbor = metadata(config["metadata"])
    routes(found, neighbor)
    starts = os.path.exists(ROOT + "/run/kubeadm/kubeadm.yaml")
    if order == "keep" or (order == "first" and starts):
        endpoint = read("/etc/l2cluster/endpoint")
        try:
            ipaddress.IPv4Address(endpoint)
        except ValueError:
            fail("/etc/l2cluster/endpoint holds no IPv4 address: " + endpoint)
        if order == "first":
            pull(config["image"])
        run(config["image"], endpoint, neighbor)
    if order == "keep":
        subprocess.run(["systemctl", "daemon-reload"], check=True)
        subprocess.run(["systemctl", "enable", "l2cluster-bgp-routes.service"], check=True)


main(sys.argv[1] if len(sys.argv) > 1 else "")
