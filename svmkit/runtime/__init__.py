"""Services for all other rooms: interrupts, threads, atomic writing of files, conversion to JSON.

It may import `errors` and no other room.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
