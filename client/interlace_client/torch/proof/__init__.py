"""The proof kit: shows on a machine of yours what the runtime promises.

``python -m interlace_client.torch.proof`` goes through its parts, each in processes of its own, and
writes one JSON file and one page.

=====================  ============================================================
``parts``              which parts there are, and on how many ranks of what they run
``alone``              (a) one rank: ten models, streams, graph capture, memory
``loops``              (b) two and four ranks on one device: the table of loops
``paced``              (c) predictions beside steps, over launches of a known time
``overhead``           (d) what a step costs the host
``several``            (e) a rank a device: calibration, plan and trial of three models
``machine``            what the machine has
``site``               where a check runs, and its batches
``pair``               the same training twice, compared bit for bit
``models``             ten small models
``networks``           those that the loops train
``pacing``             the transport of (c)
``launching``          ranks as processes: begun, watched, ended
``worker``             what such a process does
``outcomes``           what came of a check
``page``               what is written
=====================  ============================================================
"""
