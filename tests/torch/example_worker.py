"""One rank of the example, and how many threads with launches it leaves behind."""

import runpy
import sys
from pathlib import Path

from interlace_client.torch import planner
from tests.ending import threads_of_gloo

EXAMPLE = Path(__file__).parents[2] / "client" / "examples" / "planned_training.py"

if __name__ == "__main__":
    planner._MORE_S = 3_600  # whoever plans has other things to do
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    print(f"threads left: {threads_of_gloo()}.", file=sys.stderr, flush=True)
