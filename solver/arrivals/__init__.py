"""Which rank comes late: arrivals at collectives, on clocks that their ends align.

What each rank recorded (:mod:`.arrival`) is aligned by when collectives end (:mod:`.clocks`). What
a rank takes between collectives (:mod:`.lateness`), and a collective from the last arrival to its
end (:mod:`.links`), is compared with what the others take. What is more than noise
(:mod:`.noise`) is a cause (:mod:`.causes`), and the steps are run again without it
(:mod:`.replay`); :mod:`.report` puts it together.
"""
