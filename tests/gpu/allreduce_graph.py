"""An all-reduce on every GPU here, called and replayed from a CUDA graph: prints seconds of each.

torchrun --standalone --nproc-per-node N tests/gpu/allreduce_graph.py [--bytes 3300000]
"""

import argparse
import json
import os
import statistics

import torch
import torch.distributed as dist

ROUNDS, CALLS = 20, 50


def main() -> None:
    """Measure both in turn; apart: of what the graph computes from the mean of all workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bytes", type=int, default=3_300_000)
    size = parser.parse_args().bytes
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    rank, workers = dist.get_rank(), dist.get_world_size()
    buffer = torch.full((size // 4,), float(rank), device=device)

    def call() -> None:
        """The mean of all workers' buffers, on each of them."""
        dist.all_reduce(buffer, op=dist.ReduceOp.AVG)

    for _ in range(3):  # the communicator is made before anything is captured
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    # Of this thread alone: NCCL's watchdog asks for its events meanwhile.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        call()
    buffer.fill_(rank)
    graph.replay()
    apart = float((buffer - (workers - 1) / 2).abs().max())
    seconds: dict[str, list[float]] = {"called": [], "graph": []}
    for _ in range(ROUNDS):
        for name, act in (("called", call), ("graph", graph.replay)):
            dist.barrier()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(CALLS):
                act()
            end.record()
            torch.cuda.synchronize()
            seconds[name].append(begin.elapsed_time(end) / 1e3 / CALLS)
    if rank == 0:
        medians = {f"{name}_s": statistics.median(values) for name, values in seconds.items()}
        print(json.dumps(medians | {"workers": workers, "bytes": size, "apart": apart}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
