"""The runtime: gradients leave by a plan, and what reads a tensor on its way waits for it.

=====================  ============================================================
``planned``            :class:`PlannedDDP`, in the place of DistributedDataParallel
``passes``             what becomes of each gradient in a backward pass
``senders``            who sends the gradients, and how that is changed
``sending``            by what plan they are sent, and over what
``handing_over``       a DistributedDataParallel that goes on in the run's place
``refusals``           what a run by a plan refuses
``steps``              the optimizers' steps: of what is there now, of the rest later
``arrivals``           what is on its way, and how it arrives
``reduction``          gradients into buckets, launches in the plan's order
``separable``          whether a step is the sum of steps of its parts
``updates``            an optimizer's step in pieces, one for each bucket
``pending``            tensors that whatever reads them waits for
``pending_state``      optimizers whose state is waited for
``guards``             modules whose parameters are waited for where they are read
``buffers``            flat memory of a bucket
``buffer_copies``      buffers that are the first rank's
``wrapping``           which modules are taken, and who may not wrap the run
``ranks``              what all ranks must have alike
``launch_order``       the order of all collectives, compared over ranks
``static_graph``       how many gradients a parameter gets in each pass
``compression``        gradients that travel in fewer bits
``streams``            the order of what happens on several streams of a GPU
=====================  ============================================================
"""

from interlace_client.torch.runtime.planned import PlannedDDP

__all__ = ["PlannedDDP"]
