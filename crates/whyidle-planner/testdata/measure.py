"""Peak memory of the third training step of each configuration in runs.json (entries as in further.json), by phase.
GPUS=2 measure.py OUT also runs those of two GPUs."""
import json, multiprocessing as mp, os, sys, time, traceback
import torch, transformers
import torch.nn as nn
HERE = os.path.dirname(os.path.abspath(__file__))

def build(c, attn):
    c = dict(c); kind = c.pop("model_type")
    cfg = transformers.AutoConfig.for_model(kind, **c)
    cfg.use_cache = False
    auto = {"bert": transformers.AutoModelForMaskedLM, "vit": transformers.AutoModelForImageClassification,
            "t5": transformers.AutoModelForSeq2SeqLM}.get(kind, transformers.AutoModelForCausalLM)
    return auto.from_config(cfg, attn_implementation=attn), kind, cfg

def optimizer(name, ps):
    ps = list(ps)
    if name == "adamw": return torch.optim.AdamW(ps, lr=1e-4, fused=True)
    if name == "forloop": return torch.optim.AdamW(ps, lr=1e-4, foreach=False, fused=False)
    if name == "momentum": return torch.optim.SGD(ps, lr=1e-4, momentum=0.9)
    if name == "adamw8bit":
        from torchao.optim import AdamW8bit
        return AdamW8bit(ps, lr=1e-4)
    raise KeyError(name)

def one(name, r, gpu, rank, port, q):
    res = {}
    try:
        os.environ["CUDA_VISIBLE_DEVICES"] = str(gpu)
        world = r.get("world", 1)
        if world > 1:
            os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(world))
            torch.cuda.set_device(0)
            torch.distributed.init_process_group("nccl", rank=rank, world_size=world)
        torch.manual_seed(0)
        torch.backends.cuda.matmul.allow_tf32 = True
        dev = "cuda"
        with torch.device(dev):
            m, kind, cfg = build(r["config"], r["attn"])
        res["params"] = sum(p.numel() for p in m.parameters())
        if r["dtype"] == "bfloat16": m = m.to(torch.bfloat16)
        m.train()
        if r["ckpt"]: m.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        s = r.get("sharding")
        if s in ("full", "keep"):
            from torch.distributed.fsdp import fully_shard, MixedPrecisionPolicy
            kw = dict(mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16), reshard_after_forward=s == "full")
            for layer in m.model.layers: fully_shard(layer, **kw)
            fully_shard(m, **kw)
        elif s: m = nn.parallel.DistributedDataParallel(m, device_ids=[0], gradient_as_bucket_view=s == "ddp-view")
        opt = optimizer(r["opt"], m.parameters())
        fwd = torch.compile(m) if r.get("compiled") else m
        B, T = r["batch"], r["seq"]
        def batch():
            if kind == "vit":
                return dict(pixel_values=torch.rand(B, 3, 224, 224, device=dev, dtype=torch.bfloat16 if r["dtype"] == "bfloat16" else torch.float32),
                            labels=torch.randint(0, r["config"]["num_labels"], (B,), device=dev))
            ids = torch.randint(0, r["config"]["vocab_size"], (B, T), device=dev)
            return dict(input_ids=ids, labels=ids)
        torch.cuda.empty_cache()
        st = torch.cuda
        for i in range(4):
            x = batch()
            st.synchronize(); st.reset_peak_memory_stats()
            with torch.autocast("cuda", dtype=torch.bfloat16, enabled=r["amp"]):
                loss = fwd(**x).loss
            st.synchronize()
            res["peak_forward"], res["after_forward"] = st.max_memory_allocated(), st.memory_allocated(); st.reset_peak_memory_stats()
            loss.backward(); st.synchronize()
            res["peak_backward"], res["after_backward"] = st.max_memory_allocated(), st.memory_allocated(); st.reset_peak_memory_stats()
            t = time.perf_counter(); opt.step(); st.synchronize()
            res["peak_step"] = st.max_memory_allocated()
            opt.zero_grad(set_to_none=True); del loss, x
            res["after_step"] = st.memory_allocated()
            res["peak"] = max(res["peak_forward"], res["peak_backward"], res["peak_step"])
            res["steps"] = i + 1
        res["reserved"] = st.max_memory_reserved()
    except Exception as e:
        res["error"] = f"{type(e).__name__}: {str(e)[:600]}"
        traceback.print_exc()
    q.put((name, rank, res))
    q.close(); q.join_thread()
    os._exit(0)

def main():
    out = sys.argv[1]; runs = json.load(open(os.path.join(HERE, "runs.json"))); t0 = time.time()
    ctx = mp.get_context("fork"); q = ctx.Queue(); results = {}
    def save(): json.dump(results, open(os.path.join(out, "measured.json"), "w"), indent=1)
    def go(jobs):
        ps = []
        for j in jobs:
            p = ctx.Process(target=one, args=(*j, q)); p.start(); ps.append(p)
        for _ in jobs:
            try:
                name, rank, res = q.get(timeout=100)
                results.setdefault(name, []).append(dict(rank=rank, **res))
                print(f"{time.time()-t0:6.1f} {name:44s} {rank} {res.get('peak', 0)/1e6:9.0f} MB params {res.get('params')} {res.get('error', '')[:200]}", flush=True)
            except Exception: print("timeout", jobs, flush=True)
        for p in ps:
            p.join(5)
            if p.is_alive(): p.kill()
        save()
    gpus = int(os.environ.get("GPUS", "1"))
    single = [n for n in runs if runs[n].get("world", 1) == 1]
    while single:
        now, single = single[:gpus], single[gpus:]
        go([(n, runs[n], g, 0, 0) for g, n in enumerate(now)])
    if gpus > 1:
        for k, n in enumerate(x for x in runs if runs[x].get("world", 1) > 1):
            go([(n, runs[n], g, g, 29500 + k) for g in range(2)])
main()
