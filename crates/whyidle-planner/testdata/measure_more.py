"""Peak memory of the fourth training step of each run in a file of runs (entries as in further.json), by phase:
compiled graphs, LoRA, further optimizers, ZeRO-1. GPUS=2 measure_more.py RUNS OUT; without GPUS on the CPU, to try it."""
import json,os,sys,time,traceback,multiprocessing as mp
import torch,torch.nn as nn,torch.nn.functional as F,transformers
R=json.load(open(sys.argv[1]));OUT=sys.argv[2];CPU="GPUS" not in os.environ
class Block(nn.Module):
    def __init__(s,d,h):
        super().__init__();s.d,s.h=d,h;s.ln1,s.ln2=nn.LayerNorm(d),nn.LayerNorm(d);s.qkv,s.proj=nn.Linear(d,3*d),nn.Linear(d,d);s.fc,s.out=nn.Linear(d,4*d),nn.Linear(4*d,d)
    def forward(s,x):
        B,T,D=x.shape
        q,k,v=s.qkv(s.ln1(x)).view(B,T,3,s.h,D//s.h).permute(2,0,3,1,4)
        x=x+s.proj(F.scaled_dot_product_attention(q,k,v,is_causal=True).transpose(1,2).reshape(B,T,D))
        return x+s.out(F.gelu(s.fc(s.ln2(x))))
class GPT(nn.Module):
    def __init__(s,d,layers,vocab,T):
        super().__init__();s.tok,s.pos=nn.Embedding(vocab,d),nn.Embedding(T,d);s.blocks=nn.ModuleList([Block(d,d//64) for _ in range(layers)]);s.ln,s.head=nn.LayerNorm(d),nn.Linear(d,vocab,bias=False)
    def forward(s,input_ids,labels):
        x=s.tok(input_ids)+s.pos(torch.arange(input_ids.shape[1],device=input_ids.device))
        for b in s.blocks:x=b(x)
        l=s.head(s.ln(x));return l,F.cross_entropy(l.view(-1,l.shape[-1]),labels.view(-1))
class Lion(torch.optim.Optimizer):
    def __init__(s,p):super().__init__(p,{})
    @torch.no_grad()
    def step(s):
        for g in s.param_groups:
            for p in g["params"]:
                st=s.state[p]
                if not st:st["m"]=torch.zeros_like(p)
                m=st["m"];p.mul_(1-1e-6);u=m.clone().mul_(.9).add(p.grad,alpha=.1).sign_();p.add_(u,alpha=-1e-4);m.mul_(.99).add_(p.grad,alpha=.01)
class Both:
    def __init__(s,*o):s.o=o
    def step(s):[o.step() for o in s.o]
    def zero_grad(s,**k):[o.zero_grad(**k) for o in s.o]
class Lora(nn.Module):
    def __init__(s,b,r):
        super().__init__();s.b=b;s.A=nn.Linear(b.in_features,r,bias=False);s.B=nn.Linear(r,b.out_features,bias=False)
    def forward(s,x):return s.b(x)+s.B(s.A(x))*2.0
def opt(n,m):
    ps=[p for p in m.parameters() if p.requires_grad]
    if n=="adamw":return torch.optim.AdamW(ps,lr=1e-4,fused=True)
    if n=="lion":return Lion(ps)
    if n=="adafactor":return torch.optim.Adafactor(ps,lr=1e-4,foreach=False)
    mat=[p for k,p in m.named_parameters() if p.ndim==2 and ".layers." in k];ids={id(p) for p in mat}
    return Both(torch.optim.Muon(mat,lr=1e-4),torch.optim.AdamW([p for p in ps if id(p) not in ids],lr=1e-4,fused=True))
def one(name,r,gpu,rank,port,q):
    res={}
    try:
        if not CPU:os.environ["CUDA_VISIBLE_DEVICES"]=str(gpu)
        world=r.get("world",1)
        if world>1:
            os.environ.update(MASTER_ADDR="127.0.0.1",MASTER_PORT=str(port),RANK=str(rank),WORLD_SIZE=str(world))
            torch.distributed.init_process_group("gloo" if CPU else "nccl",rank=rank,world_size=world)
        torch.manual_seed(0);torch.backends.cuda.matmul.allow_tf32=True;dev="cpu" if CPU else "cuda"
        with torch.device(dev):
            if "lab" in r:m=GPT(r["lab"]["d"],r["lab"]["layers"],r["lab"]["vocab"],r["seq"])
            else:
                c=dict(r["config"]);kind=c.pop("model_type");cfg=transformers.AutoConfig.for_model(kind,**c);cfg.use_cache=False
                m=transformers.AutoModelForCausalLM.from_config(cfg,attn_implementation=r["attn"])
        res["params"]=sum(p.numel() for p in m.parameters())
        if r["dtype"]=="bfloat16":m=m.to(torch.bfloat16)
        m.train()
        if r.get("lora"):
            m.requires_grad_(False)
            for l in m.model.layers:
                for mod in (l.self_attn,l.mlp):
                    for k,v in list(mod.named_children()):
                        if isinstance(v,nn.Linear):setattr(mod,k,Lora(v,r["lora"]).to(dev))
        if r["ckpt"]:
            m.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant":False})
            for i,l in enumerate(m.model.layers):
                if r.get("every") and i%r["every"]==0:l.gradient_checkpointing=False
        w=m
        if r.get("sharding"):
            w=nn.parallel.DistributedDataParallel(m)
            from torch.distributed.optim import ZeroRedundancyOptimizer
            o=ZeroRedundancyOptimizer(w.parameters(),optimizer_class=torch.optim.AdamW,lr=1e-4,fused=True)
        else:o=opt(r["opt"],m)
        f=torch.compile(w) if r.get("compiled") else w
        st=torch.cuda;peak=lambda:0 if CPU else st.max_memory_allocated()
        def mark():
            if not CPU:st.synchronize();st.reset_peak_memory_stats()
        V=r["lab"]["vocab"] if "lab" in r else r["config"]["vocab_size"]
        for i in range(4):
            x=torch.randint(0,V,(r["batch"],r["seq"]),device=dev);mark()
            with torch.autocast(dev,dtype=torch.bfloat16,enabled=r["amp"]):
                out=f(input_ids=x,labels=x)
                loss=out[1] if "lab" in r else out.loss
                if "lab" not in r:del out
            if not CPU:st.synchronize()
            res["peak_forward"]=peak();mark();loss.backward()
            if not CPU:st.synchronize()
            res["peak_backward"]=peak();mark();o.step()
            if not CPU:st.synchronize()
            res["peak_step"]=peak();o.zero_grad(set_to_none=True);del loss,x
            res["after_step"]=0 if CPU else st.memory_allocated();res["steps"]=i+1
        res["peak"]=max(res["peak_forward"],res["peak_backward"],res["peak_step"])
        if not CPU:res["reserved"]=st.max_memory_reserved()
    except Exception as e:res["error"]=f"{type(e).__name__}: {str(e)[:300]}";traceback.print_exc()
    q.put((name,rank,res));q.close();q.join_thread();os._exit(0)
if __name__=="__main__":
    t0=time.time();c=mp.get_context("fork");q=c.Queue();done={};n=max(1,0 if CPU else int(os.environ.get("GPUS","1")))
    def go(jobs):
        ps=[c.Process(target=one,args=(*j,q)) for j in jobs];[p.start() for p in ps]
        for _ in jobs:
            try:
                k,rank,res=q.get(timeout=110);done.setdefault(k,[]).append(dict(rank=rank,**res));print(f"{time.time()-t0:6.1f} {k:40s}{rank} {res.get('peak',0)/1e6:9.0f} {res.get('params')} {res.get('error','')}",flush=True)
            except Exception:print("timeout",[j[0] for j in jobs],flush=True)
        for p in ps:
            p.join(5)
            if p.is_alive():p.kill()
        json.dump(done,open(OUT+"/measured.json","w"),indent=1)
    s=[k for k in R if R[k].get("world",1)==1]
    while s:now,s=s[:n],s[n:];go([(k,R[k],g,0,0) for g,k in enumerate(now)])
    for i,k in enumerate(k for k in R if R[k].get("world",1)>1):
        if n>1 or CPU:go([(k,R[k],g,g,29500+i) for g in range(2)])
