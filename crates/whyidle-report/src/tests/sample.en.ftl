# Messages of the hand-made verdicts.

sample-starved = Each { $step } step, the GPU works { $working } and waits { $wait } for data: { $workers } loader workers cannot keep up.
sample-more-workers = { $to } workers should bring it to about { $after } ({ $range }); then the GPU is the limit.
sample-healthy = The GPU works { $working } of each { $step } step: nothing waits.
sample-launch = Each { $step } step, the GPU works { $working } and waits { $wait } for the next kernel launch.
sample-launch-remedy = Capturing the step as a CUDA graph should bring it to about { $after }.
sample-detail-workers = { $count } workers
sample-detail-place = { $what } ({ $place })
sample-detail-named = { $name } { $time }
sample-tokenising = tokenising
sample-queue-filled = Loader queues filled while the profiler started: the trace alone would flatter this run.
sample-estimated = The step time is estimated from the trace.
sample-near-threshold = Launches cost { $share }, which is { $distance } from the threshold.
sample-evidence-next = The launching thread is in { $where } for { $time } per step.
sample-evidence-batch = One worker takes { $time } per batch.
sample-summary-workers = num_workers is { $from }; set it to { $to }: one worker takes { $time } per batch.
sample-summary-graph = { $count } kernels per step, half of them shorter than { $time }: launch them as one graph.
sample-summary-pretokenise = Tokenising takes { $share } of the workers' time, and every epoch repeats it.
sample-step-cores = More workers than cores help only if they sleep.
sample-launches = { $count } launches per step; median kernel { $time }.
