"""Holistic Trace Analysis (PyPI `traceinsight`) on one file: load it, then the analyses that come
nearest to a whyidle verdict. Prints what each took as JSON; the caller measures the process.

    run_hta.py TRACE.json.gz
"""

import json
import logging
import sys
import time

logging.disable(logging.WARNING)

from hta.trace_analysis import TraceAnalysis  # noqa: E402

took = {}


def timed(name, run):
    start = time.process_time()
    result = run()
    took[name] = round(time.process_time() - start, 3)
    return result


def analyse(name, run):
    try:
        timed(name, run)
    except Exception as error:  # An analysis that does not apply to this trace must not end the run.
        took[name] = f"failed: {error!r}"


analysis = timed("load", lambda: TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir=""))
analyse("temporal breakdown", lambda: analysis.get_temporal_breakdown(visualize=False))
analyse("idle breakdown", lambda: analysis.get_idle_time_breakdown(ranks=[0], visualize=False))
analyse("kernel breakdown", lambda: analysis.get_gpu_kernel_breakdown(visualize=False))
analyse("comm overlap", lambda: analysis.get_comm_comp_overlap(visualize=False))
analyse("launch stats", lambda: analysis.get_cuda_kernel_launch_stats(ranks=[0], visualize=False))
print(json.dumps(took))
