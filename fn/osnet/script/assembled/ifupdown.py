#!/usr/bin/env python3
# https://github.com/l2cluster/function-l2cluster
import argparse
import fcntl
import fnmatch
import glob
import http.client
import importlib
import ipaddress
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
STACKED=("bond","bridge","ipvlan","macvlan","team","vlan","vrf")
TABLES={"default":"253","main":"254","local":"255"}
root=""
class Wrong(Exception):
 pass
def log(*words):
 print("l2cluster-network:",*words,file=sys.stderr,flush=True)
def path(name):
 return root+name
def read(name):
 with open(path(name))as f:
  return f.read()
def write(name,content,mode):
 name=path(name)
 try:
  with open(name)as f:
   if f.read()==content and os.fstat(f.fileno()).st_mode&0o7777==mode:
    return False
 except OSError:
  pass
 folder=os.path.dirname(name)
 try:
  os.makedirs(folder,0o755,exist_ok=True)
  for left in glob.glob(folder+"/.l2cluster-*"):
   os.unlink(left)
  handle,temporary=tempfile.mkstemp(prefix=".l2cluster-",dir=folder)
  with os.fdopen(handle,"w")as f:
   f.write(content)
   f.flush()
   os.fchmod(handle,mode)
   os.fsync(handle)
  os.rename(temporary,name)
  handle=os.open(folder,os.O_RDONLY)
  os.fsync(handle)
  os.close(handle)
 except OSError as e:
  raise Wrong("cannot write %s: %s"%(name,e.strerror))
 return True
def command(argv):
 return subprocess.run(argv,stdin=subprocess.DEVNULL,stdout=subprocess.PIPE,stderr=subprocess.PIPE,universal_newlines=True)
def run(*argv,check=True):
 log("+",*argv)
 try:
  done=command(argv)
 except OSError as e:
  raise Wrong("%s: %s"%(argv[0],e.strerror))
 text=(done.stderr.strip()or done.stdout.strip()or "no message").splitlines()
 if done.returncode:
  log("exit status %d:"%done.returncode,*text)
  if check:
   raise Wrong("%s: %s"%(" ".join(argv),text[-1]))
def ip(*args):
 done=command(("ip","-json")+args)
 return[entry for entry in json.loads(done.stdout or "[]")if entry]if not done.returncode else[]
def kind(link):
 return link.get("linkinfo",{}).get("info_kind","")
def permanent_addresses():
 found={}
 for link in ip("-details","link","show"):
  if link.get("link_type")=="ether" and kind(link)not in STACKED:
   member=link.get("linkinfo",{}).get("info_slave_data",{})
   mac=member.get("perm_hwaddr")or link.get("permaddr")or link.get("address","")
   found.setdefault(mac.lower(),[]).append(link["ifname"])
 return found
def answers(gateway):
 with socket.socket(socket.AF_INET6 if ":" in gateway else socket.AF_INET,socket.SOCK_DGRAM)as s:
  try:
   s.sendto(b"",(gateway,9))
  except OSError:
   return False
 time.sleep(1.5)
 states=[state for n in ip("neigh","show","to",gateway)for state in n.get("state",[])]
 return any(state not in("FAILED","INCOMPLETE","NONE")for state in states)
class Snapshot:
 def __init__(self):
  self.links={link["ifname"]:link for link in ip("-details","link","show")}
  self.addresses={}
  for entry in ip("address","show"):
   self.addresses[entry["ifname"]]=[a for a in entry.get("addr_info",[])if a.get("scope")=="global"]
  self.routes=[]
  self.rules=set()
  for family in(4,6):
   for route in ip("-%d"%family,"route","show","table","all"):
    table=str(route.get("table","main"))
    if route.get("type","unicast")=="unicast":
     everywhere="0.0.0.0/0" if family==4 else "::/0"
     to=ipaddress.ip_network(everywhere if route["dst"]=="default" else route["dst"])
     self.routes.append(dict(route,to=str(to),table=TABLES.get(table,table)))
   for rule in ip("-%d"%family,"rule","show"):
    table=str(rule.get("table"))
    self.rules.add((family,rule["priority"],rule["src"],TABLES.get(table,table)))
 def defaults(self):
  return[r for r in self.routes if r["dst"]=="default" and r["table"]==TABLES["main"]and "gateway" in r]
BEFORE,AFTER="before","after"
class Wanted:
 def __init__(self,description):
  self.want=description
  try:
   self.state=json.loads(read(description["state"]))
  except(OSError,ValueError):
   self.state={}
 @property
 def stage(self):
  return self.state.get("stage",BEFORE)
 def remember(self,**values):
  self.state.update(values)
  write(self.want["state"],json.dumps(self.state,indent=1,sort_keys=True)+"\n",0o644)
 def now(self,items):
  return[item for item in items if item.get("stage")in(None,self.stage)]
 @property
 def links(self):
  return self.now(self.want["links"])
 @property
 def ports(self):
  return self.now(self.want["ports"])
 def routes(self,link):
  return self.now(link.get("routes",[]))
 def take(self,metadata):
  try:
   data=metadata.get("customdata")or{}
   given=(json.loads(data)if isinstance(data,str)else data).get(self.want["customDataKey"])or{}
   macs={i["name"]:i["mac"].lower()for i in metadata["network"]["interfaces"]}
   addresses={}
   for link in self.want["links"]:
    for subnet in()if link.get("dynamic")else link.get("subnets",()):
     label=link.get("interface")or link["port"]
     if subnet["key"]not in given:
      return "%s: the server's custom data have no address %s yet"%(label,subnet["key"])
     addresses[subnet["key"]]=self.parse(label,given[subnet["key"]],subnet["prefix"])
  except(AttributeError,KeyError,TypeError,ValueError)as e:
   return "the metadata have another form than expected: %r"%e
  self.state.update(ports=self.find_ports(macs),addresses=addresses)
  return ""
 def parse(self,label,text,prefix):
  try:
   address=ipaddress.ip_interface(text)
  except ValueError as e:
   raise Wrong("%s: %s"%(label,e))
  if str(address.network)!=prefix:
   raise Wrong("%s: address %s is not in %s"%(label,address,prefix))
  return str(address)
 def find_ports(self,macs):
  here=permanent_addresses()
  names={}
  for port in self.want["ports"]:
   name=port["name"]
   if name.startswith("bond"):
    names[name]=name
    continue
   if name not in macs:
    raise Wrong("%s: the metadata name no such port"%name)
   found=here.get(macs[name],[])
   if len(found)!=1:
    raise Wrong("%s: %d interfaces have the permanent address %s"%(name,len(found),macs[name]))
   names[name]=found[0]
  return names
 def port(self,item):
  return self.state["ports"][item.get("port")or item["name"]]
 def device(self,link):
  return link.get("interface")or self.port(link)
 def devices(self):
  out=[]
  for device in[self.port(p)for p in self.ports]+[self.device(l)for l in self.links]:
   if device not in out:
    out.append(device)
  return out
 def address(self,key):
  return ipaddress.ip_interface(self.state["addresses"][key])
 def fill(self,text,unit):
  def value(found):
   what,name=found.groups()
   if what=="address":
    return str(self.address(name).ip)
   return self.state["ports"][name]if what=="port" else unit(self.state["ports"][name])
  return re.sub(r"@(address|port|unit):([a-z0-9.-]+)@",value,text)
 def files(self,unit):
  parts=[self.want]+self.want["ports"]+self.want["links"]
  return{self.fill(f["path"],unit):(self.fill(f["content"],unit),int(f["mode"],8))
    for part in parts for f in self.now(part.get("files",[]))}
 def rules(self):
  out={}
  for rule in self.want.get("rules",[]):
   source=str(self.address(rule["from"]).ip)if "from" in rule else "all"
   for link in self.links:
    keys=[subnet["key"]for subnet in link.get("subnets",[])]
    shared="from" not in rule and any("table" in r for r in self.routes(link))
    if shared or rule.get("from")in keys:
     out[(6 if rule.get("ipv6")else 4,rule["priority"],source,str(rule["table"]))]=self.device(link)
     break
  return out
 def unwanted_rules(self,now):
  low,high=self.want["rulePriorities"]
  return sorted(r for r in now.rules-set(self.rules())if low<=r[1]<=high)
 def problems(self):
  now=Snapshot()
  out=[]
  for port in self.ports:
   out+=[(self.port(port),why)for why in self.port_problems(port,now)]
  for link in self.links:
   out+=[(self.device(link),why)for why in self.link_problems(link,now)]
  for rule,device in sorted(self.rules().items()):
   if rule not in now.rules:
    out.append((device,"has no rule from %s to table %s"%rule[2:]))
  out+=[("rules","the one from %s to table %s is unwanted"%rule[2:])for rule in self.unwanted_rules(now)]
  ours=self.devices()if self.stage==AFTER else[r.get("dev")for r in now.defaults()]
  return out+[(r["dev"],"has the unwanted default route via %s"%r["gateway"])for r in now.defaults()if r["dev"]not in ours]
 def port_problems(self,port,now):
  name=self.port(port)
  found=now.links.get(name)
  used=port.get("released")or any(link["port"]==port["name"]for link in self.links)
  if found is None:
   return["there is no such interface"]if used else[]
  out=self.up_problems(found,port)if used else[]
  if port.get("released")and found.get("master"):
   out.append("is still in %s"%found["master"])
  if port.get("bare")or(port.get("cleared")and self.stage==AFTER):
   out+=["has the unwanted address %s"%a["local"]for a in now.addresses.get(name,[])]
  return out
 def up_problems(self,found,wanted):
  out=[]
  if "UP" not in found["flags"]:
   out.append("is not up")
  elif "LOWER_UP" not in found["flags"]:
   out.append("has no carrier")
  if wanted.get("mtu",found["mtu"])!=found["mtu"]:
   out.append("has MTU %d, not %d"%(found["mtu"],wanted["mtu"]))
  return out
 def link_problems(self,link,now):
  found=now.links.get(self.device(link))
  if found is None:
   return["there is no such interface"]
  out=self.up_problems(found,link)
  if "vlan" in link and not self.is_vlan(found,link):
   out.append("is not VLAN %d on %s"%(link["vlan"],self.port(link)))
  return out+self.address_problems(link,now)+self.route_problems(link,now)
 def is_vlan(self,found,link):
  data=found.get("linkinfo",{}).get("info_data",{})
  return kind(found)=="vlan" and data.get("id")==link["vlan"]and found.get("link")==self.port(link)
 def address_problems(self,link,now):
  found=now.addresses.get(self.device(link),[])
  out=["another machine has the address %s too"%a["local"]for a in found if a.get("dadfailed")]
  out+=["address %s is not ready"%a["local"]for a in found if a.get("tentative")]
  have={ipaddress.ip_interface("%s/%d"%(a["local"],a["prefixlen"]))for a in found}
  if link.get("dynamic"):
   if link.get("later"):
    return out
   wanted=[subnet["prefix"]for subnet in link.get("subnets",[{"prefix":"0.0.0.0/0"}])]
   return out+["has no address in %s yet"%p for p in wanted if not any(a in ipaddress.ip_network(p)for a in have)]
  want={self.address(subnet["key"])for subnet in link.get("subnets",[])}
  out+=["does not have the address %s"%a for a in sorted(want-have,key=str)]
  return out+["has the unwanted address %s"%a for a in sorted(have-want,key=str)]
 def route_problems(self,link,now):
  have={(r["to"],r["gateway"],r["table"]):r for r in now.routes if r.get("dev")==self.device(link)and "gateway" in r}
  out=[]
  for route in self.routes(link):
   found=have.pop((route["to"],route["via"],str(route.get("table",TABLES["main"]))),None)
   if found is None:
    out.append("has no route to %s via %s"%(route["to"],route["via"]))
   elif "metric" in route and found.get("metric")!=route["metric"]:
    out.append("has metric %s to %s, not %d"%(found.get("metric"),route["to"],route["metric"]))
  routers=[route["via"]for route in self.routes(link)]
  return out+["has the unwanted route to %s via %s"%key[:2]for key in sorted(have)if key[0].endswith("/0")or key[1]in routers]
MAIN="/etc/network/interfaces"
class Backend:
 def __init__(self,node):
  self.node=node
 def unit(self,device):
  return device
 def before_files(self,devices):
  for device in devices:
   self.down(device)
 def load(self,changed):
  text=read(MAIN)
  ours=[name for name in self.node.files(self.unit)if "/interfaces.d/" in name]
  for line in text.splitlines():
   words=line.split()
   if len(words)==2 and words[0]in("source","source-directory"):
    pattern=os.path.join("/etc/network",words[1])+("/*" if words[0]=="source-directory" else "")
    ours=[name for name in ours if not fnmatch.fnmatch(name,pattern)]
  if ours:
   text+="" if text.endswith("\n")else "\n"
   write(MAIN,text+"source /etc/network/interfaces.d/*-l2cluster-*\n",os.stat(path(MAIN)).st_mode&0o7777)
 def up(self,devices):
  for device in devices:
   self.down(device)
  for device in devices:
   if not device.startswith("bond"):
    run("ifup",device)
 def down(self,device):
  if device.startswith("bond"):
   return
  run("ifdown","--force",device,check=False)
  for link in ip("-details","link","show","dev",device):
   if kind(link)=="vlan":
    run("ip","link","del","dev",device)
    continue
   run("ip","link","set","dev",device,"nomaster")
   run("ip","address","flush","dev",device)
DESCRIPTION="/etc/l2cluster/network.json"
LOST=(OSError,ValueError,http.client.HTTPException)
class Late(Exception):
 pass
class Metadata:
 def __init__(self,base):
  self.base=base.rstrip("/")
  self.opener=urllib.request.build_opener(urllib.request.ProxyHandler({}))
 def call(self,url,body=None):
  request=urllib.request.Request(url,headers={"Accept":"application/json"})
  if body is not None:
   request.data=json.dumps(body).encode()
   request.add_header("Content-Type","application/json")
  with self.opener.open(request,timeout=10)as answer:
   return answer.read(1<<22)
 def get(self):
  try:
   found=json.loads(self.call(self.base+"/metadata").decode())
   if isinstance(found,dict):
    return found,""
   return None,"the metadata service's answer is no JSON object"
  except LOST as e:
   return None,"the metadata service does not answer as it should: %s"%e
 def report(self,url,event,detail="",limit=45):
  body=dict(event,message=event["message"]+(": "+detail[:400]if detail else ""))
  log("event",json.dumps(body,sort_keys=True))
  until=time.monotonic()+limit
  while url:
   try:
    self.call(url,body)
    return
   except LOST as e:
    log("cannot report:",e)
   if time.monotonic()+3>until:
    break
   time.sleep(3)
class Node(Wanted):
 reason=""
 def __init__(self,description):
  super().__init__(description)
  self.backend=Backend(self)
  self.handover=None
  if description.get("handover"):
   sys.dont_write_bytecode=True
   sys.path.insert(0,path("/usr/local/lib/l2cluster"))
   self.handover=importlib.import_module("handover").Handover(self)
 def learn(self,metadata,until,tell):
  silent,told=0,False
  while True:
   found,reason=metadata.get()
   if found is not None:
    silent=0
    self.state["url"]=found.get("user_state_url")
   else:
    silent+=1
   known=silent>=3 and "addresses" in self.state
   if not told and(known or not silent):
    told=self.state["url"]
    tell("started")
   if not silent:
    reason=self.take(found)
   self.reason="" if known else reason
   if not self.reason:
    return
   log("waits:",reason)
   if time.monotonic()>until and not 0<silent<3:
    if silent:
     raise Wrong(reason)
    signal.alarm(0)
    tell("failed",reason)
    until=float("inf")
   time.sleep(3)
 def apply(self):
  devices=self.devices()
  for device in self.state.get("devices",[]):
   if device not in devices:
    self.backend.down(device)
  if any("vlan" in link for link in self.links)and not os.path.isdir(path("/sys/module/8021q")):
   run("modprobe","8021q")
  files=self.files(self.backend.unit)
  known=self.state.get("files",[])
  self.remember(files=sorted(set(known)|set(files)),devices=devices)
  wrong={device for device,_ in self.problems()}
  self.backend.before_files([d for d in devices if d in wrong])
  gone=[name for name in known if name not in files]
  for name in gone:
   if os.path.exists(path(name)):
    os.unlink(path(name))
  changed=[name for name in sorted(files)if write(name,*files[name])]
  self.remember(files=sorted(files))
  self.backend.load(changed+gone)
  self.settle()
 def settle(self):
  wrong,failure=self.problems(),None
  patience=min(20,self.want["timeout"]//10)
  for _ in range(3):
   if not wrong:
    return
   failure=self.attempt({device for device,_ in wrong})
   until=time.monotonic()+(2 if failure else patience)
   while True:
    wrong=self.problems()
    if not wrong or time.monotonic()>until:
     break
    time.sleep(1)
  if wrong:
   raise failure or Wrong("; ".join("%s: %s"%pair for pair in wrong))
 def attempt(self,names):
  try:
   self.make_room(names)
   for port in self.ports:
    if "mtu" in port and self.port(port)in names:
     run("ip","link","set","dev",self.port(port),"mtu",str(port["mtu"]))
   self.backend.up([d for d in self.devices()if d in names])
   if self.handover:
    self.handover.clear()
  except Wrong as e:
   log("attempt failed:",e)
   self.reason=str(e)
   return e
  return None
 def make_room(self,names):
  now=Snapshot()
  for family,priority,source,table in self.unwanted_rules(now):
   run("ip","-%d"%family,"rule","del","from",source,"lookup",table,"priority",str(priority),check=False)
  for link in self.links:
   device=self.device(link)
   if "vlan" not in link or device not in names:
    continue
   there=now.links.get(device)
   if there and kind(there)!="vlan":
    raise Wrong("%s: there is an interface of this name that is no VLAN"%device)
   for other in now.links.values():
    if self.is_vlan(other,link)!=(other["ifname"]==device)and(other is there or self.is_vlan(other,link)):
     run("ip","link","del","dev",other["ifname"])
 def name_node(self):
  kubeadm=self.want.get("kubeadm")
  if not kubeadm:
   return
  now=Snapshot()
  first={}
  for link in self.links:
   for address in now.addresses.get(self.device(link),[])if link.get("nodeIP")else[]:
    first.setdefault(address["family"],address["local"])
  addresses=[first[family]for family in sorted(first)]
  for name in glob.glob(path(kubeadm["files"])):
   text=read(name[len(root):])
   filled=text.replace(kubeadm["ips"],",".join(addresses)).replace(kubeadm["ip"],addresses[0])
   write(name[len(root):],filled,os.stat(name).st_mode&0o7777)
def describe():
 return Node(json.loads(read(DESCRIPTION)))
def check(node):
 if "addresses" not in node.state:
  found,reason=Metadata(node.want["metadata"]).get()
  reason=reason or node.take(found)
  if reason:
   raise Wrong(reason)
 wrong=node.problems()
 for name,(content,_)in sorted(node.files(node.backend.unit).items()):
  if not os.path.exists(path(name))or read(name)!=content:
   wrong.append((name,"is not as described"))
 for what,why in wrong:
  print("%s: %s"%(what,why))
 return 1 if wrong else 0
def bring_up(node):
 metadata=Metadata(node.want["metadata"])
 events=node.want["events"]
 limit=node.want["timeout"]
 reserve=min(45,limit//4)
 def tell(event,detail=""):
  metadata.report(node.state.get("url"),events[event],detail,limit=reserve)
 def late(*_):
  raise Late(node.reason or "the time limit of %d s is over"%limit)
 signal.signal(signal.SIGALRM,late)
 signal.alarm(limit-reserve)
 event,detail="succeeded",""
 try:
  node.learn(metadata,time.monotonic()+limit-reserve-15,tell)
  signal.alarm(signal.alarm(0)or limit-reserve)
  node.apply()
  node.name_node()
  if node.handover:
   node.handover.begin()
 except Exception as e:
  log("failed:",repr(e))
  event,detail="failed",str(e)
 finally:
  signal.alarm(0)
 tell(event,detail)
 return event=="failed"
def main():
 global root
 parser=argparse.ArgumentParser(description="Brings up this server's layer-2 networks.")
 parser.add_argument("--check",action="store_true",help="say what is not as described, and change nothing")
 parser.add_argument("--handover",action="store_true",help="wait until the platform's own network is gone")
 parser.add_argument("--root",default="",help="the folder to take for /")
 options=parser.parse_args()
 root=options.root
 try:
  if options.check:
   return check(describe())
  with open(path("/run/l2cluster-network.lock"),"w")as lock:
   if options.handover:
    return describe().handover.wait(lock)
   fcntl.flock(lock,fcntl.LOCK_EX)
   return bring_up(describe())
 except(Wrong,OSError,ValueError)as e:
  log("failed:",e)
  return 1
if __name__=="__main__":
 sys.exit(main())
