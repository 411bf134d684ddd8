"""What all tests need of the process they run in."""

import signal

# A shell starts processes in the background with Ctrl-C ignored; tests of interruptions want it heard.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
