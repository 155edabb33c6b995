"""The iteration of LeNet-5 that SketchDLC prints in its Fig. 8: worker 0 of 2, one server."""

from typing import NamedTuple

from tests.dlc_oracle import text_of


class PrintedKey(NamedTuple):
    """A parameter's messages: bytes of its gradient, its four times [us] and their ``d_time``."""

    bytes: int
    times: tuple[int, int, int, int]
    d_times: tuple[int, int, int, int]


#: By key; times are ``time_usec``: gradient sent, confirmed, parameter asked for, got.
FIG_8 = {
    6: PrintedKey(20033, (812819, 817035, 817341, 824158), (70213, 4216, 306, 6817)),
    7: PrintedKey(73, (813995, 820047, 820321, 824434), (69380, 6052, 274, 4113)),
    5: PrintedKey(2033, (814485, 821298, 821589, 824611), (75957, 6813, 291, 3022)),
    3: PrintedKey(233, (814799, 822139, 822416, 824755), (92763, 7340, 277, 2339)),
    2: PrintedKey(100033, (814893, 823446, 823746, 832488), (95239, 8553, 300, 8742)),
    4: PrintedKey(1600033, (815352, 825650, 825932, 836645), (85015, 10298, 282, 10713)),
    0: PrintedKey(2033, (819381, 830203, 830511, 836834), (109072, 10822, 308, 6323)),
    1: PrintedKey(113, (819475, 831145, 831419, 836906), (104862, 11670, 274, 5487)),
}
#: When each parameter was got for the first time, at initialization [us].
FIRST_GOT = {
    0: 711278, 1: 715343, 2: 720703, 3: 722803, 4: 736521, 5: 739274, 6: 743305, 7: 745385
}  # fmt: skip
#: Bytes of a confirmation and of a request; a parameter has three more than its gradient.
CONFIRMATION, REQUEST, MORE = 19, 28, 3


def text() -> str:
    """Write the iteration as a DLC file of worker 0."""
    messages = [(-1, key, 3, 0, time, FIG_8[key].bytes + MORE) for key, time in FIRST_GOT.items()]
    for key, row in FIG_8.items():
        sizes = (row.bytes, CONFIRMATION, REQUEST, row.bytes + MORE)
        messages += [
            (0, key, stage, 0, time, size)
            for stage, (time, size) in enumerate(zip(row.times, sizes, strict=True))
        ]
    return str(text_of("w0", 2, 1, messages, "paper"))
