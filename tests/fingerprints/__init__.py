"""Fingerprints of everything that myriad computes, to see what a refactoring changes.

    python -m tests.fingerprints --out before.json      # in the root of the repository
    ... rename, move, rewrite ...
    python -m tests.fingerprints --check before.json    # prints what differs; exit status 1 then
    python -m tests.fingerprints --only 'sgd warp*' --check before.json

Every method is trained, every code and signature is learned, and every verb is run on small fixed
data, through public names only: `myriad`'s estimators, and its command line. Each result is
recorded as a SHA-256: weights, scores and rankings, the files of models and stores, the JSON that
commands print (without times and paths). Each case runs with one thread and with two, which must
agree: where they do not, the command says so and its exit status is 1.

Arrays and settings of a case have keys of their own (``... arrays``, ``... settings``), so that a
renamed setting is told from a changed weight. Options that a method refuses are recorded as
``refused``, without the message.

The hashes depend on the processor and on the versions of the libraries, so they are not committed:
record them on the same machine before a change, and compare after it. Needs `tests`' dependencies;
without a network's weights, the cases of networks are left out.
"""
