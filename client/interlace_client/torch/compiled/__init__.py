"""Compiled graphs: captured for a plan, and run by one."""

from interlace_client.torch.compiled.capture_calls import Uncapturable
from interlace_client.torch.compiled.capture_entry import CaptureCompiled, capture_compiled
from interlace_client.torch.compiled.capture_fake import fake_ranks
from interlace_client.torch.compiled.capture_gpus import GPUS, Gpu
from interlace_client.torch.compiled.capture_networks import Fabric
from interlace_client.torch.compiled.capture_request import CapturedGraph, CaptureReport, Costs
from interlace_client.torch.compiled.fingerprint import fingerprint
from interlace_client.torch.compiled.planned_pass import NotThisGraph, PlannedPass
from interlace_client.torch.compiled.program import CompiledPlan, read_program
from interlace_client.torch.compiled.settings import running

__all__ = [
    "GPUS",
    "CaptureCompiled",
    "CaptureReport",
    "CapturedGraph",
    "CompiledPlan",
    "Costs",
    "Fabric",
    "Gpu",
    "NotThisGraph",
    "PlannedPass",
    "Uncapturable",
    "capture_compiled",
    "fake_ranks",
    "fingerprint",
    "read_program",
    "running",
]
