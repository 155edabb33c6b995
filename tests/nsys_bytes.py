"""SQLite exports as Nsight Systems writes them, made row by row; times in us."""

import sqlite3
import struct

PID, TID = 7, 7 << 24 | 70
COMM = 0xCAFE
SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
  globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,
  eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
  text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER, jsonText TEXT, binaryData TEXT);
CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER NOT NULL, schemaId INTEGER NOT NULL,
  idx INTEGER NOT NULL, flags INTEGER, type INTEGER, name TEXT, description TEXT,
  arrayOrUnionDetail INTEGER, offset INTEGER);
"""
#: Domain, schema, type, name and place of each field: of a call, and of making a communicator.
FIELDS = [
    (1, 100, 18, "NCCL communicator ID", None),
    (1, 100, 22, "Message size [bytes]", 8),
    (1, 200, 18, "NCCL communicator ID", None),
    (1, 200, 5, "No. of ranks", 8),
    (1, 200, 5, "Rank", 12),
]


def payload(size, communicator=COMM, schema=100):
    """Pack what a call carries."""
    return packed(schema, struct.pack("<QQ", communicator, size))


def made(workers, rank, communicator=COMM):
    """Pack what a communicator is."""
    return packed(200, struct.pack("<Qii", communicator, workers, rank))


def packed(schema, content):
    return struct.pack("<IIIIQQ", 1, 0, schema, 0, len(content), 32 + len(content)) + content


class Export:
    """An export; ``bytes`` is its file."""

    def __init__(self, schema=SCHEMA):
        self.connection = sqlite3.connect(":memory:")
        self.connection.executescript(schema)
        if "SCHEMA_ENTRIES" in schema:
            rows = [
                (*one[:2], i, None, *one[2:4], None, None, one[4]) for i, one in enumerate(FIELDS)
            ]
            self._insert("NVTX_PAYLOAD_SCHEMA_ENTRIES", *rows)
        self.names = {}

    def _insert(self, table, *rows):
        marks = ",".join("?" * len(rows[0]))
        self.connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    def name(self, text):
        if text not in self.names:
            self.names[text] = len(self.names) + 1
            self._insert("StringIds", (self.names[text], text))
        return self.names[text]

    def kernel(self, number, launch, start, end, name="gemm", stream=7, tid=TID, device=0):
        """Add a kernel and the call that launched it."""
        key, pid = self.name(name), tid >> 24 << 24
        row = (start * 1000, end * 1000, device, 1, stream, number, pid, key, key)
        self._insert("CUPTI_ACTIVITY_KIND_KERNEL", row)
        return self.call(number, launch, tid)

    def call(self, number, launch, tid=TID):
        row = (launch * 1000, launch * 1000 + 500, 0, tid, number, self.name("cudaLaunchKernel"))
        self._insert("CUPTI_ACTIVITY_KIND_RUNTIME", row)
        return self

    def copy(self, number, start, end, kind=8, stream=7, tid=TID, device=0):
        row = (start * 1000, end * 1000, device, stream, number, tid >> 24 << 24, 64, kind)
        self._insert("CUPTI_ACTIVITY_KIND_MEMCPY", row)
        return self.call(number, start - 1, tid)

    def range(self, text, start, end, packed=None, tid=TID, written=None, kind=59):
        key = self.name(text) if len(text) % 2 else None  # either way is used
        own = None if key else text
        row = (start * 1000, end * 1000, kind, own, tid, key, 1, written, packed)
        self._insert("NVTX_EVENTS", row)
        return self

    @property
    def bytes(self):
        self.connection.commit()
        return self.connection.serialize()


ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def step(export, at=0, number=1, sizes=(100, 200), tid=TID, device=0, late=0):
    """Two layers, two buckets, one step of 100 us, as in the tests of PyTorch's traces."""

    def kernel(n, launch, start, end, **rest):
        export.kernel(
            number * 100 + n, at + launch, at + start, at + end, tid=tid, device=device, **rest
        )

    export.range(f"step {number}", at, at + 100, tid=tid)
    kernel(1, 3, 5, 15)
    kernel(2, 9, 15, 25)
    kernel(3, 27, 30, 40)
    export.range("ncclAllReduce", at + 32, at + 35, payload(sizes[0]), tid)
    kernel(4, 33, 41 + late, 61, name=ALL_REDUCE, stream=20)
    kernel(5, 38, 40, 50 + late)
    export.range("ncclAllReduce", at + 43, at + 46, payload(sizes[1]), tid)
    kernel(6, 44, 61, 71, name=ALL_REDUCE, stream=20)
    kernel(7, 62, 73, 83)
    return export
