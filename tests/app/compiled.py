"""A compiled graph in the form that ``capture_compiled`` writes, small enough to follow by hand."""

from tests.app.service import Json

#: In the graph's order: a, then the gather of 10 us, then b beside nothing: 5 + 10 + 5 us, and c.
COMPILED: Json = {
    "name": "small",
    "ops": [
        {"id": "a", "kind": "compute", "duration_us": 5, "stream": "gpu", "after": []},
        {"id": "x", "kind": "all_gather", "bytes": 1000, "channel": "pg", "after": ["a"]},
        {"id": "b", "kind": "compute", "duration_us": 5, "stream": "gpu", "after": ["x"]},
        {"id": "c", "kind": "compute", "duration_us": 8, "stream": "gpu", "after": ["a"]},
    ],
    "buffers": [
        {"id": "in", "bytes": 7, "written_by": None, "read_by": ["a"], "kept": True},
        {"id": "whole", "bytes": 1000, "written_by": "x", "read_by": ["b"], "kept": False},
        {"id": "out", "bytes": 3, "written_by": "b", "read_by": [], "kept": True},
    ],
    "channels": {
        "pg": {
            "workers": 4,
            "tables": {"all_gather": [[100, 10.0], [1000, 10.0]]},
            "tables_from": {"all_gather": "tables"},
        }
    },
    "peak_bytes_in_program_order": 1010,
}
