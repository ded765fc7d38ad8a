"""What tests start begins as from a terminal, also where the tests are a background job."""

import signal
import subprocess
import sys

IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD)
TELL = """
import signal
ignored = {one for one in signal.valid_signals() if signal.getsignal(one) == signal.SIG_IGN}
print(sorted(ignored - {signal.SIGPIPE, signal.SIGXFSZ}), signal.pthread_sigmask(0, ()))
"""


def test_what_tests_start_ignores_and_blocks_no_signal() -> None:
    told = subprocess.run([sys.executable, "-c", TELL], capture_output=True, text=True, check=True)
    assert told.stdout == "[] set()\n"


def test_so_it_is_where_the_tests_are_a_background_job() -> None:
    def begin_in_the_background() -> None:
        for number in IGNORED:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGTERM})

    test = f"{__file__}::{test_what_tests_start_ignores_and_blocks_no_signal.__name__}"
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider", test],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=begin_in_the_background,
    )
    assert ended.returncode == 0, ended.stdout
