"""A place for tests: work is done in this process, but on what another one would be sent."""

import pickle

from myriad.parallel import LocalExecutor, Workers


class Posting(LocalExecutor):
    """A mapper that pickles every piece of work; `sent` has the bytes of each."""

    remote = True

    def __init__(self):
        super().__init__(1)
        self.sent = []

    def map(self, function, items):
        for item in items:
            posted = pickle.dumps((function, item))
            self.sent.append(len(posted))
            there, what = pickle.loads(posted)
            yield pickle.loads(pickle.dumps(there(what)))


def open_posting(folder):
    """Return a place whose workers get nothing but what is posted."""
    return Workers(Posting(), folder)
