"""A heap in flat arrays."""

from array import array


class Heap:
    """Rows of two keys and an item; the least row is first. At most ``room`` rows at a time."""

    def __init__(self, room: int) -> None:
        self.count = 0
        self.major = array("d", bytes(8 * room))
        self.minor = array("d", bytes(8 * room))
        self.item = array("i", bytes(4 * room))

    def push(self, major: float, minor: float, item: int) -> None:
        """Add a row; O(log rows)."""
        at = self.count
        self.count = at + 1
        while at > 0:
            above = (at - 1) // 2
            if not self._precedes(major, minor, item, above):
                break
            self._put(at, self.major[above], self.minor[above], self.item[above])
            at = above
        self._put(at, major, minor, item)

    def pop(self) -> None:
        """Take the first row away; O(log rows)."""
        last = self.count - 1
        self.count = last
        major, minor, item = self.major[last], self.minor[last], self.item[last]
        at, below = 0, 1
        while below < last:
            other = below + 1
            if other < last and self._precedes(
                self.major[other], self.minor[other], self.item[other], below
            ):
                below = other
            if self._precedes(major, minor, item, below):
                break
            self._put(at, self.major[below], self.minor[below], self.item[below])
            at, below = below, 2 * below + 1
        self._put(at, major, minor, item)

    def _precedes(self, major: float, minor: float, item: int, at: int) -> bool:
        if major != self.major[at]:
            return major < self.major[at]
        if minor != self.minor[at]:
            return minor < self.minor[at]
        return item < self.item[at]

    def _put(self, at: int, major: float, minor: float, item: int) -> None:
        self.major[at] = major
        self.minor[at] = minor
        self.item[at] = item
