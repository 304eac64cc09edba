"""Makes memory snapshots as PyTorch writes them, with a small caching allocator by PyTorch's rules.

    python3 make.py            the files of this folder
    python3 make.py large 1e9 out.pickle [depth]
                               a snapshot of about that many bytes, as a long run with stacks would write it

The rules are those of CUDACachingAllocator.cpp: 512-byte blocks, small blocks in segments of 2 MiB, blocks of 1 to 10 MiB in
segments of 20 MiB, larger ones in their own; best fit; a rest of at most 1 MiB is not split off large blocks.
"""

import gzip
import os
import pickle
import sys

MIB = 1 << 20
START_US = 1_760_000_000_000_000


def frame(name, filename, line):
    return {"name": name, "filename": filename, "line": line}


TRAIN = "/home/user/train.py"
MODEL = "/home/user/model.py"
MODULE = "/usr/lib/python3/dist-packages/torch/nn/modules/module.py"
LIBRARY = "/usr/lib/python3/dist-packages/torch/nn/modules/linear.py"
ALLOC = [
    frame("c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)", "??", 0),
    frame("at::_ops::empty_memory_format::call(c10::ArrayRef<c10::SymInt>)", "??", 0),
]


def operator(name):
    return [frame(f"at::_ops::{name}::call(at::Tensor const&)", "??", 0)]


def forward(name, line, caller):
    return ALLOC + operator(name) + [
        frame("forward", LIBRARY, 134),
        frame("_call_impl", MODULE, 1790),
        frame("forward", MODEL, line),
        frame("_call_impl", MODULE, 1790),
        frame(*caller),
        frame("<module>", TRAIN, 90),
    ]


def outside(name, caller):
    return ALLOC + operator(name) + [frame(*caller), frame("<module>", TRAIN, 90)]


def backward(node, name):
    return ALLOC + operator(name) + [
        frame(f"torch::autograd::generated::{node}::apply(std::vector<at::Tensor>&&)", "??", 0),
        frame("torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&)", "??", 0),
        frame("torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)", "??", 0),
    ]


def optimizer():
    return ALLOC + operator("zeros_like") + [
        frame("step", "/usr/lib/python3/dist-packages/torch/optim/adamw.py", 230),
        frame("train", TRAIN, 44),
        frame("<module>", TRAIN, 90),
    ]


def empty_cache():
    return [
        frame("empty_cache", "/usr/lib/python3/dist-packages/torch/cuda/memory.py", 222),
        frame("train", TRAIN, 50),
        frame("<module>", TRAIN, 90),
    ]


class OutOfMemory(Exception):
    pass


class Allocator:
    def __init__(self, capacity=80 << 30):
        self.capacity, self.reserved, self.next = capacity, 0, 0x7F0000000000
        self.segments = {}  # address: (size, is_small)
        self.blocks = {}  # address: [size, requested, is_free, segment, frames]
        self.trace, self.time, self.recording = [], START_US, True

    def event(self, action, addr, size, frames):
        self.time += 7
        if self.recording:
            key = "device_free" if action == "oom" else "addr"
            self.trace.append({
                "action": action, key: addr, "size": size, "stream": 0, "time_us": self.time,
                "compile_context": "N/A", "user_metadata": "", "frames": frames,
            })

    def alloc(self, requested, frames):
        size = max(512, -(-requested // 512) * 512)
        small = size <= MIB
        fitting = [
            (block[0], address) for address, block in self.blocks.items()
            if block[2] and block[0] >= size and self.segments[block[3]][1] == small
        ]
        if not fitting:
            self.grow(size, small, frames)
            return self.alloc(requested, frames)
        have, address = min(fitting)
        rest = have - size
        segment = self.blocks[address][3]
        if rest >= 512 if small else rest > MIB:
            self.blocks[address + size] = [rest, 0, True, segment, []]
        else:
            size = have
        self.blocks[address] = [size, requested, False, segment, frames]
        self.event("alloc", address, requested, frames)
        return address

    def grow(self, size, small, frames):
        if small:
            need = 2 * MIB
        elif size < 10 * MIB:
            need = 20 * MIB
        else:
            need = -(-size // (2 * MIB)) * 2 * MIB
        if self.reserved + need > self.capacity:
            self.release(frames)
        if self.reserved + need > self.capacity:
            self.event("oom", self.capacity - self.reserved, size, frames)
            raise OutOfMemory
        address, self.next = self.next, self.next + need + 32 * MIB
        self.segments[address] = (need, small)
        self.blocks[address] = [need, 0, True, address, []]
        self.reserved += need
        self.event("segment_alloc", address, need, frames)

    def release(self, frames):
        for address, (size, _) in list(self.segments.items()):
            block = self.blocks[address]
            if block[2] and block[0] == size:
                del self.blocks[address], self.segments[address]
                self.reserved -= size
                self.event("segment_free", address, size, frames)

    def free(self, address, frames=()):
        block = self.blocks[address]
        for action in ("free_requested", "free_completed"):
            self.event(action, address, block[1], block[4] if not frames else frames)
        block[2], block[4] = True, []
        of = sorted(a for a, b in self.blocks.items() if b[3] == block[3])
        at = of.index(address)
        for low, high in ((at, at + 1), (at - 1, at)):
            if low < 0 or high >= len(of):
                continue
            first, second = of[low], of[high]
            if first in self.blocks and second in self.blocks and self.blocks[first][2] and self.blocks[second][2]:
                self.blocks[first][0] += self.blocks.pop(second)[0]

    def snapshot(self, marks=()):
        segments = []
        for address, (size, small) in sorted(self.segments.items()):
            blocks = sorted((a, b) for a, b in self.blocks.items() if b[3] == address)
            used = [b for _, b in blocks if not b[2]]
            segments.append({
                "device": 0, "address": address, "total_size": size,
                "allocated_size": sum(b[0] for b in used), "active_size": sum(b[0] for b in used),
                "requested_size": sum(b[1] for b in used), "stream": 0,
                "segment_type": "small" if small else "large", "segment_pool_id": (0, 0),
                "is_expandable": False, "frames": [],
                "blocks": [{
                    "address": a, "size": b[0], "requested_size": b[1],
                    "state": "inactive" if b[2] else "active_allocated", "frames": b[4],
                } for a, b in blocks],
            })
        settings = {
            "PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0,
            "expandable_segments": False, "roundup_power2_divisions": {"1": 0, "2": 0},
        }
        return {
            "segments": segments, "device_traces": [self.trace], "allocator_settings": settings,
            "external_annotations": list(marks),
        }


def model(gpu, caller, layers=4, width=8 * MIB):
    """A forward: what it saves for backward."""
    saved = []
    for _ in range(layers):
        for name, line in (("layer_norm", 20), ("linear", 21), ("gelu", 22), ("linear", 23)):
            saved.append(gpu.alloc(width + 1000, STACKS[name, line, caller[0]]))
    return saved


TRAINS, EVALUATES = ("train", TRAIN, 41), ("evaluate", TRAIN, 61)
STACKS = {
    (name, line, caller[0]): forward(name, line, caller)
    for name, line in (("layer_norm", 20), ("linear", 21), ("gelu", 22), ("linear", 23), ("cross_entropy_loss", 30))
    for caller in (TRAINS, EVALUATES)
}
GRADIENT, STATES, EMPTIES = backward("AddmmBackward0", "mm"), optimizer(), empty_cache()


def step(gpu, weights, states, keep=False, empty=False):
    """A training step. `keep`: its graph is not given back."""
    saved = model(gpu, TRAINS)
    loss = gpu.alloc(4, STACKS["cross_entropy_loss", 30, "train"])
    gradients = []
    for place in reversed(saved):
        gradients.append(gpu.alloc(3 * MIB, GRADIENT))
        if not keep:
            gpu.free(place)
    if not states:
        states.extend(gpu.alloc(6 * MIB, STATES) for _ in weights)
    for gradient in gradients:
        gpu.free(gradient)
    if not keep:
        gpu.free(loss)
    if empty:
        gpu.release(EMPTIES)


def training(steps, before=0, **how):
    gpu = Allocator()
    gpu.recording = False
    weights = [gpu.alloc(3 * MIB, []) for _ in range(8)]
    states = []
    for number in range(before + steps):
        gpu.recording = number >= before
        step(gpu, weights, states, **how)
    return gpu.snapshot()


def evaluation(batches):
    gpu = Allocator()
    gpu.recording = False
    for _ in range(8):
        gpu.alloc(3 * MIB, [])
    gpu.recording = True
    batch = outside("to_dtype", ("evaluate", TRAIN, 57))
    for _ in range(batches):
        gpu.alloc(MIB, batch)
        model(gpu, EVALUATES)
        gpu.alloc(4, STACKS["cross_entropy_loss", 30, "evaluate"])
    return gpu.snapshot()


def small_pieces():
    """Room enough, but in small pieces between blocks: the large one fails."""
    gpu = Allocator(capacity=400 * MIB)
    places = [gpu.alloc(5 * MIB, STACKS["linear", 21, "train"]) for _ in range(72)]
    for place in places[::2]:
        gpu.free(place)
    try:
        gpu.alloc(120 * MIB, STACKS["linear", 23, "train"])
    except OutOfMemory:
        pass
    return gpu.snapshot()


def fragmented():
    """Each segment is half free: no piece is large enough, but expandable segments would have moved the pages."""
    gpu = Allocator(capacity=840 * MIB)
    for _ in range(4):
        gpu.free(gpu.alloc(200 * MIB, STACKS["linear", 23, "train"]))
        gpu.alloc(105 * MIB, STACKS["linear", 21, "train"])
    try:
        gpu.alloc(150 * MIB, STACKS["linear", 23, "train"])
    except OutOfMemory:
        pass
    return gpu.snapshot()


def large(target, path, depth=40):
    """Many steps of a training with deep stacks: frames lists of a hundred steps are distinct objects, as PyTorch's are."""
    frames = [frame(f"function_{n}(at::Tensor const&)", f"/usr/lib/python3/torch/file_{n % 50}.py", n) for n in range(3000)]
    kinds = [[frames[(kind * 7 + at * 13) % 3000] for at in range(depth)] for kind in range(400)]
    trace, time, address, live = [], START_US, 0x100000000000, []
    # An event with its share of the frames lists takes about so many bytes.
    events = int(target / (56 + depth * 5 * 2 / 3))
    while len(trace) < events:
        kind = len(trace) // 3 * 31 % 400
        place = address + (len(trace) // 3 % 4096) * 4 * MIB
        size = 1000 + kind * 4096
        shared = list(kinds[kind])
        time += 9

        def event(action, frames, time=time, place=place, size=size):
            return {"action": action, "addr": place, "size": size, "stream": 0, "time_us": time,
                    "compile_context": "N/A", "user_metadata": "", "frames": frames}

        trace.append(event("alloc", shared))
        live.append(place)
        given_back = list(kinds[(kind + 1) % 400])
        trace.append(event("free_requested", given_back))
        trace.append(event("free_completed", given_back))
    gpu = Allocator()
    for _ in range(64):
        gpu.alloc(3 * MIB, [])
    whole = gpu.snapshot()
    whole["device_traces"] = [trace]
    with open(path, "wb") as file:
        pickle.dump(whole, file)
    print(len(trace), "events,", os.path.getsize(path), "bytes")


def main():
    if sys.argv[1:2] == ["large"]:
        return large(float(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:5]))
    here = os.path.dirname(os.path.abspath(__file__))

    def put(name, whole, protocol=4):
        with open(os.path.join(here, name), "wb") as file:
            # Without a time and a name, so that the same snapshot makes the same file.
            with gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") as packed:
                pickle.dump(whole, packed, protocol=protocol)

    put("healthy.pickle.gz", training(6, before=2))
    put("healthy_protocol2.pickle.gz", training(6, before=2), protocol=2)
    put("healthy_protocol5.pickle.gz", training(6, before=2), protocol=5)
    put("kept_graph.pickle.gz", training(8, keep=True))
    put("evaluation.pickle.gz", evaluation(8))
    put("emptied.pickle.gz", training(8, before=1, empty=True))
    put("fragmented.pickle.gz", fragmented())
    put("small_pieces.pickle.gz", small_pieces())


if __name__ == "__main__":
    main()
