#!/usr/bin/env python3
# https://github.com/l2cluster/function-l2cluster
from __main__ import AFTER,BEFORE,Snapshot,Wanted,answers,log,run
import fcntl
import time
SERVICE="l2cluster-handover.service"
class Handover:
 def __init__(self,node):
  self.node=node
 def begin(self):
  if self.node.stage==BEFORE:
   run("systemctl","enable",SERVICE)
   run("systemctl","start","--no-block",SERVICE)
 def wait(self,lock):
  while self.node.stage==BEFORE and not self.over():
   time.sleep(2)
  fcntl.flock(lock,fcntl.LOCK_EX)
  Wanted.__init__(self.node,self.node.want)
  self.node.remember(stage=AFTER)
  log("the platform's own network is gone")
  run("systemctl","disable",SERVICE,check=False)
  self.node.apply()
  return 0
 silent=0
 def over(self):
  self.silent=0 if self.platform_answers()else self.silent+1
  ways=self.ways()
  return(self.silent>=3 and any(answers(way)for way in ways))or(self.silent>=20 and not ways)
 def cleared(self):
  return[self.node.port(port)for port in self.node.ports if port.get("cleared")]
 def platform_answers(self):
  return any([answers(r["gateway"])for r in Snapshot().defaults()if r["dev"]in self.cleared()])
 def ways(self):
  last=[r for link in self.node.want["links"]for r in link.get("routes",[])if r.get("stage")==AFTER]
  routes=[r for link in self.node.links for r in link.get("routes",[])if "table" not in r]
  return sorted({r["via"]for r in routes if not last or r.get("stage")==AFTER})
 def clear(self):
  for device in self.cleared()if self.node.stage==AFTER else[]:
   for family in "-4","-6":
    run("ip",family,"address","flush","dev",device,"scope","global",check=False)
    run("ip",family,"route","flush","dev",device,"exact","default",check=False)
