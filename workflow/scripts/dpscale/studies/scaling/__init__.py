"""Q2: the speed-up of N workers."""
