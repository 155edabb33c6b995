"""The programs that a profile holds (``HloProto``), as lines of HLO text.

References
----------
.. [1] ``hlo.proto`` and ``xla_data.proto`` of OpenXLA, for the numbers of the fields.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from solver.traces.protobuf import Schema, messages

#: Name of the plane with the programs, and of the field that is one.
PLANE, _PROGRAM = "/host:metadata", {"hlo_proto", "Hlo Proto"}
_SCHEMA: Schema = {
    "HloProto": {"hlo_module": (1, "HloModule")},
    "HloModule": {"name": (1, "string"), "computations": (3, "HloComputation*")},
    "HloComputation": {"instructions": (2, "HloInstruction*")},
    "HloInstruction": {
        "name": (1, "string"),
        "opcode": (2, "string"),
        "shape": (3, "Shape"),
        "replica_groups": (49, "ReplicaGroup*"),
        "collective_device_list": (87, "CollectiveDeviceList"),
        "mesh_axes": (93, "MeshAxes"),
    },
    "Shape": {
        "element_type": (2, "int32"),
        "dimensions": (3, "int64*"),
        "tuple_shapes": (4, "Shape*"),
    },
    "ReplicaGroup": {"replica_ids": (1, "int64*")},
    "CollectiveDeviceList": {
        "replica_groups": (1, "ReplicaGroup*"),
        "iota_replica_group_list": (2, "IotaReplicaGroupList"),
    },
    "IotaReplicaGroupList": {
        "num_replica_groups": (1, "int64"),
        "num_devices_per_group": (2, "int64"),
    },
    "MeshAxes": {"mesh": (1, "Mesh"), "axes": (2, "AxisRef*")},
    "Mesh": {"axes": (1, "Axis*")},
    "Axis": {"name": (1, "string"), "size": (2, "int64")},
    "AxisRef": {"mesh_axis_index": (1, "int64"), "part": (2, "SubAxis")},
    "SubAxis": {"pre_size": (1, "int64"), "size": (2, "int64")},
}
#: What HLO text calls the types of elements, by their numbers; all of 8 bits in floating point
#: begin alike.
_TYPES = {
    **dict(
        enumerate(
            ["pred", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"], 1
        )
    ),
    15: "c64",
    16: "bf16",
    18: "c128",
    **dict.fromkeys((19, 20, 23, 24, 25, 28, 29, 33), "f8"),
}
#: How their opcodes begin.
_COLLECTIVES = ("all-", "reduce-scatter", "collective-", "ragged-all-")
#: An instruction of which a shape is nested deeper is left out.
_DEEPEST = 8


def programs_in(plane: Any) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each program of the plane, and the lines of its collectives.

    A program that cannot be read is left out.
    """
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    fields = {entry.key for entry in plane.stat_metadata if entry.value.name in _PROGRAM}
    for entry in plane.event_metadata:
        for stat in entry.value.stats:
            if stat.metadata_id not in fields or not stat.bytes_value:
                continue
            try:
                module = _schema()["HloProto"].FromString(stat.bytes_value).hlo_module
            except DecodeError:
                continue
            lines = (_line(one) for part in module.computations for one in part.instructions)
            yield module.name, [line for line in lines if line]


@cache
def _schema() -> Any:
    return messages("HloProto", _SCHEMA, {})


def _line(one: Any) -> str:
    """Write an instruction that is a collective; empty for any other."""
    if not one.opcode.startswith(_COLLECTIVES):
        return ""
    shapes = ", ".join(_shapes(one.shape, _DEEPEST))
    return f"%{one.name} = ({shapes}) {one.opcode}(), replica_groups={_groups(one)}"


def _groups(one: Any) -> str:
    """Write the groups of replicas, in the way in which they are kept."""
    listed = one.collective_device_list
    if size := listed.iota_replica_group_list.num_devices_per_group:
        return f"[1,{size}]<="
    for group in (*listed.replica_groups[:1], *one.replica_groups[:1]):
        return "{{" + ",".join(map(str, group.replica_ids)) + "}}"
    axes = one.mesh_axes.mesh.axes
    sizes = ",".join(f"'{i}'={axis.size}" for i, axis in enumerate(axes))
    used = ",".join(
        f"'{axis.mesh_axis_index}':({axis.part.pre_size}){axis.part.size}"
        if axis.part.size
        else f"'{axis.mesh_axis_index}'"
        for axis in one.mesh_axes.axes
    )
    return f"mesh[{sizes}] {{{used}}}"


def _shapes(shape: Any, depth: int) -> Iterator[str]:
    """Yield the arrays of a shape as HLO text has them."""
    if shape.tuple_shapes and depth:
        for part in shape.tuple_shapes:
            yield from _shapes(part, depth - 1)
    else:
        lengths = ",".join(map(str, shape.dimensions))
        yield f"{_TYPES.get(shape.element_type, 'unknown')}[{lengths}]"
