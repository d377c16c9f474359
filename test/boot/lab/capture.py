#!/usr/bin/env python3
"""Writes down the tags of ICMP frames on an interface, each once.

The kernel takes a tag out of the frame and hands it over beside it.
"""
import socket
import struct
import sys

ETH_P_ALL, SOL_PACKET, PACKET_AUXDATA, TP_STATUS_VLAN_VALID = 3, 263, 8, 1 << 4
PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC = 1, 1

interface, out = sys.argv[1:]
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
s.bind((interface, 0))
s.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
# A bridge shows what it only forwards to who asks for everything.
s.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP,
             struct.pack("IHH8s", socket.if_nametoindex(interface), PACKET_MR_PROMISC, 0, b""))
seen = set()
open(out, "w").close()
while True:
    frame, extra, _, _ = s.recvmsg(2048, 256)
    tag = "untagged"
    for level, kind, data in extra:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, _, _, _, _, tci, _ = struct.unpack("IIIHHHH", data[:20])
            if status & TP_STATUS_VLAN_VALID:
                tag = "vlan %d" % (tci & 0xfff)
    kind, = struct.unpack("!H", frame[12:14])
    if kind == 0x8100:
        tag, kind = "vlan %d" % (struct.unpack("!H", frame[14:16])[0] & 0xfff), struct.unpack("!H", frame[16:18])[0]
        frame = frame[4:]
    if kind == 0x0800 and frame[23] == 1 and frame[26:29] == b"\x0a\x3c\x0a" and tag not in seen:
        seen.add(tag)
        with open(out, "w") as f:
            f.write("\n".join(sorted(seen)) + "\n")
