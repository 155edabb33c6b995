"""A parameter server for PyTorch, made to be recorded: servers, workers, and their steps."""

from interlace_client.torch.parameter_server.frames import ServingFailed
from interlace_client.torch.parameter_server.messages import MessageRecorder
from interlace_client.torch.parameter_server.recorder import StepRecorder
from interlace_client.torch.parameter_server.server import TrainingServer
from interlace_client.torch.parameter_server.worker import ServedModel

__all__ = ["MessageRecorder", "ServedModel", "ServingFailed", "StepRecorder", "TrainingServer"]
