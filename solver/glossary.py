"""What the words of answers mean, a sentence each, and what people call what runs today.

Data alone, and nothing is imported: the service, its pages, the command, notebooks and the docs'
table show these very sentences.
"""

#: Each term as it is shown, and one sentence on it.
TERMS: dict[str, str] = {
    "iteration time": "The time of one training iteration, forward, backward and optimizer, "
    "simulated from the graph and the costs of the cluster.",
    "what you run": "What the training job does today, recorded or as the framework would do it; "
    "plans are compared with it.",
    "plan": "An order and grouping of communication that Interlace proposes: which tensors are "
    "sent together, and when.",
    "lower bound": "A proven time: no schedule of this graph on this cluster is faster.",
    "gap": "How far the plan is above the lower bound: its time over the bound, less one; "
    "a better plan can gain no more than that.",
    "gain": "The share of the iteration time of what you run that the plan saves.",
    "interval": "The least and the most of the gain where bandwidth, start-up, launches or compute "
    "are not quite as stated.",
    "verdict": "Whether the gain is worth a change: worth it, too close to say, nothing to gain, "
    "or not reachable with what you run.",
    "headroom": "The most that any schedule could gain over a policy: its time over the lower "
    "bound, less one.",
    "compute alone": "The iteration time if communication were free.",
    "exposed": "Communication that no compute hides: iteration time less compute alone.",
    "hidden": "The share of communication that runs while compute runs, and so costs no time.",
    "limited by": "What holds the iteration time up most: compute, bandwidth, start-ups, one "
    "tensor, one compute op or the policy.",
    "critical path": "The chain of ops and waits that makes the iteration as long as it is: only "
    "what shortens it helps.",
    "tensor": "A gradient or parameter that has to be sent.",
    "bucket": "Tensors that are sent as one collective.",
    "launch": "One call of a collective; each pays the start-up once.",
    "part": "What one launch carries of a bucket that is cut.",
    "collective": "A communication of all workers together: an all-reduce, all-gather, "
    "reduce-scatter, broadcast or all-to-all.",
    "channel": "A network or process group that carries one launch at a time.",
    "link": "A physical capacity that the launches of several channels share.",
    "stream": "Compute ops of one worker that run one at a time.",
    "release": "When all tensors of a bucket are there, so that it may be sent.",
    "waited": "How long a bucket lay ready and was not being sent.",
    "tail": "Compute that is left after a collective on the longest path to the end.",
    "start-up": "The fixed cost that each launch pays before its first byte.",
    "barrier": "The optimizer waits for all gradients, as in PyTorch, and the next forward pass "
    "for the optimizer.",
    "policy": "A rule that decides what is launched when, such as PyTorch DDP's.",
    "worker": "One data-parallel rank of the training job.",
    "status": "How sure it is that the plan is the best one: optimal if its time is the lower "
    "bound, within if some plan found is, feasible if neither is known.",
    "evidence": "What an answer rests on: what was recorded, how well costs fit it, and what was "
    "assumed.",
    "recorded step": "The iteration time that was measured when the trace was taken.",
    "peak memory": "The most memory that the program holds at any time of the iteration.",
    "phase": "The part of an iteration that an op belongs to: forward, backward, optimizer or "
    "communication.",
    "knee": "The first setting of a sweep after which the gain grows little.",
    "drift": "A lasting difference between the measured steps of a run and what was predicted.",
    "trial": "A short stretch of a run in which another plan is measured against the one in use.",
    "shape": "How many ways a job is split: tensor (tp), pipeline (pp), data, context, expert, "
    "with its micro-batch (mb) and how its steps are run.",
    "slow-down": "Mean time of a job's iteration beside other jobs over its time alone.",
    "allocation": "The nodes of a job, in the order of its ranks.",
    "bubble": "Time of a step in which pipeline ranks wait for one another.",
    "MFU": "Model FLOP/s utilization: the model's operations of a step over what the GPUs could "
    "do in its time.",
    "front": "Shapes of which none is both faster and smaller in memory.",
    "proven": "No shape of the space has a shorter simulated step, under the figures taken of the "
    "machine; it is no promise about the machine.",
    "run": "A training job that executes a plan and reports what it measures.",
}

#: What each status of a plan is called (``solver.bounds.status``).
PROVEN: dict[str, str] = {
    "optimal": "proven optimal",
    "within": "best time proven",
    "feasible": "not proven optimal",
}

#: Policies and rules by the names of requests, as people call them.
LABELS: dict[str, str] = {
    "plan": "this plan",
    "fifo": "FIFO, the graph's own collectives",
    "wfbp": "FIFO, each tensor alone (WFBP)",
    "single": "All tensors in one bucket (CSF)",
    "horovod": "Horovod, fusion by cycles",
    "ddp": "PyTorch DDP",
    "ddp_priority": "DDP's buckets, most urgent first",
    "tictac": "Each tensor alone, most urgent first (TicTac)",
    "p3": "Equal slices, most urgent first (P3)",
    "bytescheduler": "Slices by priority with credit (ByteScheduler)",
    "mg_wfbp": "FIFO, merged where it pays (MG-WFBP)",
    "ada_fusion": "FIFO, adaptive fusion (AdaFusion)",
    "pace": "Fused, largest tail first, preempting (PACE)",
    "in_order": "As the graph says, each collective awaited",
    "inductor": "PyTorch inductor's overlap schedule",
    "simple_overlap": "Inductor's simple overlap",
    "bucketed_overlap": "Large buckets, launched early, waited late",
    "transformer_blocks": "Bucket per transformer block",
    "topo_span": "Inductor, buckets of bounded span",
    "deepcompile": "Prefetch within memory (DeepCompile)",
    "xla_lhs": "XLA's latency-hiding scheduler",
    "ddp_tuned": "PyTorch DDP, best bucket size",
    "fsdp2": "PyTorch FSDP2, unit by unit",
    "recorded": "What was recorded",
    "none": "Nothing",
}


#: The examples as people write them.
EXAMPLES: dict[str, str] = {
    "two_layers": "Two layers",
    "resnet50": "ResNet-50",
    "t5_small": "T5-small",
    "bert_base": "BERT-base",
    "bert_large": "BERT-large",
    "gpt2": "GPT-2",
    "llama_7b": "LLaMA-7B",
    "vgg16": "VGG-16",
    "fsdp_llama_7b": "LLaMA-7B under FSDP",
    "tp_gpt_8b": "GPT 8B, tensor parallel",
    "seq2seq": "Seq2Seq",
    "transformer": "Transformer",
}


def label(name: str) -> str:
    """Return what people call a policy; the name itself where nobody wrote another."""
    return LABELS.get(name, name)
