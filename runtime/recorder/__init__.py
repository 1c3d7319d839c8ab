"""A proxy that turns the traffic of a running agent into threads: their program goes on as before, the Studio reads.

traffic -> reading -> aligning, joining -> recording -> the store; proxy and serving let the bytes through. What passes
is handed to another process (apart), whose `Writer` records it: nothing there can hold up or break a stream.
"""
