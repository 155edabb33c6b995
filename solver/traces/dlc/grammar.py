"""What a DLC file looks like: its header in both spellings, its rows, its set-up rows.

References
----------
.. [1] Xu et al., SketchDLC, ACM TACO 2018: section 4.1, Table 1 and Fig. 8.
"""

import re

#: The line above the rows, as the paper and as the recorder spell it.
COLUMNS = re.compile(
    rb"\bid\s+src\s+dst\s+length\s+(?:num|dep)_pp\s+operation\s+op_id\s+dep_type\s+d_?time\s+"
    rb"time_sec\s+time_usec\s+id_?dep\b",
    re.IGNORECASE,
)
#: How many workers and servers there are.
WORKERS = re.compile(
    rb"num_workers\s?:\s?=\s{0,8}(\d{1,7})\s{1,64}"
    rb"num_servers\s?:\s?=\s{0,8}(\d{1,7})"
)

_OP = rb"(?:OP\s?:\s?=\s*+)?"
#: A message: source, destination, length, num_pp, operation, role, key, number, peer and time.
ROW = re.compile(
    rb"\s*+\d{1,18}\s++(\d{1,9})\s++(\d{1,9})\s++(\d{1,18})\s++(-?\d{1,18})\s++"
    + _OP
    + rb"(Push_Send|Push_Recv|Pull_Send|Pull_Recv)_(Worker|Server)\s++"
    rb"(\d{1,9})-(-?\d{1,9})-([ws])(\d{1,9})\s++\d\s++-?\d{1,18}\s++(\d{1,12})\s++(\d{1,6})\s++\S"
)
#: A message of six columns, before the parameters are there: it has neither key nor time.
SETUP_ROW = re.compile(
    rb"\s*+\d{1,18}\s++(\d{1,9})\s++(\d{1,9})\s++(\d{1,18})\s++(-?\d{1,18})\s++"
    + _OP
    + rb"SendCom_T[Oo]_(?:Servers|Workers)\s*+$"
)
#: Rows that the scheduler's messages are recorded in, in a file of their own.
OF_SCHEDULER = re.compile(
    rb"\bOP:=\s(?:Scheduler_Comm|Scheduler_to_|"
    rb"Worker_Send_Sch|Server_Send_Sch)"
)

#: Which of the four messages of an iteration an operation is, on a worker and on a server.
STAGES = {
    (b"Push_Send", b"Worker"): 0,
    (b"Push_Recv", b"Worker"): 1,
    (b"Pull_Send", b"Worker"): 2,
    (b"Pull_Recv", b"Worker"): 3,
    (b"Push_Recv", b"Server"): 0,
    (b"Push_Send", b"Server"): 1,
    (b"Pull_Recv", b"Server"): 2,
    (b"Pull_Send", b"Server"): 3,
}
PUSH, CONFIRMATION, REQUEST, PARAMETER, SET_UP = range(5)

#: A message, field by field, without what stands before its operation.
_EXAMPLE = b"0 0 1 8 1 Push_Send_Worker 0-0-s0 0 0 0 0 -1".split()
_OPERATION, _OP_ID = 5, 6
_WORDS = [b"OP:=", *(b"_".join(op) for op in STAGES)]
_WORDS += [b"SendCom_T%c_%s" % (o, to) for o in b"oO" for to in (b"Servers", b"Workers")]


def is_begun_row(text: bytes) -> bool:
    """Tell whether a line is a message or a set-up row without its end: a file was cut off in it.

    It has no end of line, fields that are right, and the beginning of another.
    """
    fields = re.sub(rb"\bOP\s?:\s?=", b"", text, count=1).split()
    if text.endswith(b"\n") or not 0 < len(fields) <= len(_EXAMPLE):
        return False
    *_, last = fields
    place = len(fields) - 1
    if ROW.match(b" ".join([*fields[:-1], *_EXAMPLE[place:]])) is None:
        return False
    if place == _OPERATION:
        return any(word.startswith(last) for word in _WORDS)
    begun = rb"\d+(?:-(?:-?\d*|-?\d+-[ws]?|-?\d+-[ws]\d+))?" if place == _OP_ID else rb"-?\d*"
    return re.fullmatch(begun, last) is not None
