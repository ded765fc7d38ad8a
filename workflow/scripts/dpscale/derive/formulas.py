"""Every formula of the derived tables, once, with its unit and its source.

N workers, b per-worker batch, B = N*b, D training samples, S payload bytes. Every function takes
plain numbers or pandas Series of them and returns the same kind.
"""

from collections.abc import Callable
from typing import TypeVar

import pandas as pd

Number = TypeVar("Number", float, pd.Series)


def ring_allreduce_bytes(payload_bytes: Number, workers: Number) -> Number:
    """Return 2(N-1)/N*S: the least bytes the busiest worker sends in an all-reduce of S bytes.

    Patarasuk and Yuan, J. Parallel Distrib. Comput. 69 (2009) 117-124, Lemma 4.
    """
    return 2 * (workers - 1) * payload_bytes / workers


def payload_bytes(parameters: Number, itemsize: Number) -> Number:
    """Return X*itemsize: bytes of the gradients that each iteration all-reduces."""
    return parameters * itemsize


def allreduce_wire_bytes(payload_bytes: Number, workers: Number) -> Number:
    """Return 2(N-1)*S: bytes that all N workers together send in a ring all-reduce of S bytes.

    N times `ring_allreduce_bytes` (Patarasuk and Yuan 2009, Lemma 4).
    """
    return 2 * (workers - 1) * payload_bytes


def broadcast_wire_bytes(payload_bytes: Number, workers: Number) -> Number:
    """Return (N-1)*s: bytes sent in a broadcast of s bytes, since N-1 workers each receive s."""
    return (workers - 1) * payload_bytes


def allgather_wire_bytes(payload_bytes: Number, workers: Number) -> Number:
    """Return N(N-1)*s: bytes sent in an all-gather in which each worker contributes s bytes."""
    return workers * (workers - 1) * payload_bytes


def reduce_scatter_wire_bytes(payload_bytes: Number, workers: Number) -> Number:
    """Return (N-1)*S: bytes sent in a ring reduce-scatter of S bytes, half of an all-reduce.

    Patarasuk and Yuan 2009, section 3.
    """
    return (workers - 1) * payload_bytes


def zero1_wire_bytes(payload_bytes: Number, workers: Number) -> Number:
    """Return 3(N-1)*S: gradients all-reduced, and updated parameters broadcast by who has them."""
    updated = broadcast_wire_bytes(payload_bytes, workers)
    return allreduce_wire_bytes(payload_bytes, workers) + updated


def sharded_wire_bytes(
    payload_bytes: Number,
    workers: Number,
    gathers: int,
    scattered: Callable[[Number, Number], Number] = reduce_scatter_wire_bytes,
) -> Number:
    """Return (gathers+1)(N-1)*S: parameters gathered so many times, gradients reduce-scattered.

    Rajbhandari et al., ZeRO (SC 2020), section 7.2.2: 3 S a worker with two gathers. scattered:
    what a backend sends in a reduce-scatter, where that is no ring's.
    """
    gathered = gathers * allgather_wire_bytes(payload_bytes / workers, workers)
    return gathered + scattered(payload_bytes, workers)


def step_wire_bytes(payload_bytes: Number, buffer_bytes: Number, workers: Number) -> Number:
    """Return 2(N-1)*S + (N-1)*buffers: bytes all workers send in one steady DDP iteration."""
    gradients = allreduce_wire_bytes(payload_bytes, workers)
    return gradients + broadcast_wire_bytes(buffer_bytes, workers)


def epoch_seconds(steps_s: Number, samples: Number, train_samples: Number) -> Number:
    """Return the seconds of an epoch of exactly D samples: measured seconds times D / samples.

    Scaling full-batch steps to D keeps the rounding of ceil(D/B) out of comparisons across N.
    """
    return steps_s * train_samples / samples


def iterations_per_epoch(
    train_samples: Number, workers: Number, per_worker_batch: Number
) -> Number:
    """Return D/(N*b), the factor that scales one full-batch step to an epoch of D samples.

    Not an integer in general; it multiplies time and bytes alike.
    """
    return train_samples / (workers * per_worker_batch)


def full_steps(train_samples: Number, global_batch: Number) -> Number:
    """Return floor(D/B): the full batches of one epoch whose last partial batch is dropped."""
    return train_samples // global_batch


def loader_steps(train_samples: Number, global_batch: Number) -> Number:
    """Return ceil(D/B): the batches of one epoch with the last partial one."""
    return -(-train_samples // global_batch)


def run_steps(steps_per_epoch: Number, epochs: Number) -> Number:
    """Return the steps of a run of some epochs (40 epochs of 60,000/128 are 18,750)."""
    return epochs * steps_per_epoch


def full_run_seconds(train_s: Number, epochs: Number, full_epochs: Number) -> Number:
    """Return T*E'/E: seconds of a run of E' epochs, from the seconds T of one of E epochs."""
    return train_s * full_epochs / epochs


def workers_of_steps(
    train_samples: float, per_worker_batch: float, steps: float, epochs: float
) -> int:
    """Return D/(b*steps/epochs), rounded down: the most workers that can make so few steps.

    The steps of an epoch are rounded down to full batches, floor(D/(N*b)); 3,120 steps of b = 128
    in 40 epochs of 60,000 samples can only come from 6 workers.
    """
    return int(train_samples // (per_worker_batch * (steps / epochs)))


def share_margin(share_frac: Number, count: Number) -> Number:
    """Return 1.96*sqrt(p(1-p)/n): half the 95% interval of a share p counted on n samples.

    The normal approximation of the binomial distribution (Wasserman, All of Statistics, 2004,
    example 6.17).
    """
    return 1.96 * (share_frac * (1 - share_frac) / count) ** 0.5


def samples_per_second(train_samples: Number, epoch_s: Number) -> Number:
    """Return D/T, samples per second of an epoch of D samples that took T seconds."""
    return train_samples / epoch_s


def model_flop_utilisation(
    flops_per_sample: Number, samples_per_s: Number, peak_flops_per_s: Number
) -> Number:
    """Return F*r/P: the share of a device's peak FLOP/s that its training makes use of.

    F are the FLOPs of forward and backward pass that the network needs for a sample, without any
    that an implementation adds. Chowdhery et al., PaLM (2022, arXiv:2204.02311), appendix B.
    """
    return flops_per_sample * samples_per_s / peak_flops_per_s


def speedup(base_epoch_s: Number, epoch_s: Number) -> Number:
    """Return T_1/T_N, the speed-up of an epoch (a ratio, not multiplied by N)."""
    return base_epoch_s / epoch_s


def efficiency(speedup_ratio: Number, workers: Number) -> Number:
    """Return T_1/(N*T_N), the parallel efficiency as a fraction."""
    return speedup_ratio / workers


def compute_seconds(base_epoch_s: Number, workers: Number) -> Number:
    """Return T_1/N: one worker's epoch (same b, without loading) shared among N workers."""
    return base_epoch_s / workers


def communication_seconds(base_epoch_s: Number, epoch_s: Number, workers: Number) -> Number:
    """Return T_N - T_1/N, communication by subtraction; with `compute_seconds` it sums to T_N."""
    return epoch_s - compute_seconds(base_epoch_s, workers)


def ring_allreduce_seconds(
    payload_bytes: Number, workers: Number, alpha_s: float, beta_bytes_per_s: float
) -> Number:
    """Return 2(N-1)*alpha + 2(N-1)/N*S/beta: seconds of a ring all-reduce of S bytes.

    alpha is the latency of one message in seconds, beta the rate of a worker's link in bytes per
    second. Thakur, Rabenseifner and Gropp, Int. J. High Perform. Comput. Appl. 19 (2005) 49-66,
    section 4.5, without the time of the additions.
    """
    latency_s = 2 * (workers - 1) * alpha_s
    return latency_s + ring_allreduce_bytes(payload_bytes, workers) / beta_bytes_per_s


def level_message_bytes(workers: Number, alpha_s: Number, beta_bytes_per_s: Number) -> Number:
    """Return N*alpha*beta: bytes of the all-reduce whose latency takes as long as its bytes.

    Where the two terms of `ring_allreduce_seconds` are equal.
    """
    return workers * alpha_s * beta_bytes_per_s


def level_latency_seconds(payload_bytes: Number, workers: Number, beta: Number) -> Number:
    """Return S/(N*beta): the latency at which an all-reduce of S bytes is half latency.

    `level_message_bytes` solved for alpha; beta in bytes per second.
    """
    return payload_bytes / (workers * beta)


def affordable_epoch_seconds(exchange_s: Number, workers: Number, efficiency: float) -> Number:
    """Return N*E/(1-E)*t: T_1 from which on N workers keep the efficiency E though all t shows.

    E = T_1/(N*T_N) with T_N = T_1/N + t, solved for T_1.
    """
    return workers * efficiency / (1 - efficiency) * exchange_s


def affordable_hidden_seconds(exchange_s: Number, workers: Number, efficiency: float) -> Number:
    """Return N*E*t: T_1 from which on N workers keep the efficiency E if computation hides t.

    E = T_1/(N*T_N) with T_N = max(T_1/N, t), the least that it can be, solved for T_1.
    """
    return workers * efficiency * exchange_s


def bounded_speedup(step_s: Number, exchange_s: Number, workers: Number) -> Number:
    """Return N*s/(s+t): T_1/T_N where each of N workers' steps takes one worker's s and all of t.

    T_N = T_1/N * (s+t)/s, as in `affordable_epoch_seconds`.
    """
    return workers * step_s / (step_s + exchange_s)


def partly_faster(part_frac: Number, ratio: Number) -> Number:
    """Return 1/(1-f+f/r): how many times as fast work is of whose time a part f gets r times so.

    Amdahl, 1967: the rest takes as long as before.
    """
    return 1 / (1 - part_frac + part_frac / ratio)


def added_step_seconds(step_s: Number, speedup: Number, workers: Number) -> Number:
    """Return N*s/G-s: by how much N workers' step is longer than one's, s, where they gain G.

    G = T_1/T_N = N*s/(s+a), solved for a: as in `bounded_speedup`, with all that a step adds.
    """
    return workers * step_s / speedup - step_s


def latency_share(level_bytes: Number, payload_bytes: Number) -> Number:
    """Return L/(L+S): the share of latency in an all-reduce of S bytes.

    L is `level_message_bytes`: by `ring_allreduce_seconds` latency over transfer is L/S.
    """
    return level_bytes / (level_bytes + payload_bytes)


def double_rate_saving(level_bytes: Number, payload_bytes: Number) -> Number:
    """Return S/(2(L+S)): what a link of twice the rate saves of an all-reduce of S bytes.

    Half of the transfer's share, by `latency_share`.
    """
    return payload_bytes / (2 * (level_bytes + payload_bytes))


def device_share(workers_per_machine: Number, devices_per_machine: Number) -> Number:
    """Return max(1, workers/devices): how many workers share a device of their machine."""
    return max(1.0, workers_per_machine / devices_per_machine)


def sharing_seconds(
    compute_s: Number, workers_per_machine: Number, devices_per_machine: Number
) -> Number:
    """Return T_1/devices - T_1/N, with compute_s = T_1/N: 0 where each worker has a device.

    So much longer N workers compute if they take turns on devices that compute no faster for that.
    """
    return compute_s * (device_share(workers_per_machine, devices_per_machine) - 1)


def bandwidth(moved_bytes: Number, iterations: Number, communication_s: Number) -> Number:
    """Return bytes per second: bytes of one iteration times iterations over an epoch's seconds.

    With moved_bytes from `ring_allreduce_bytes` it is what nccl-tests calls bus bandwidth
    (NVIDIA/nccl-tests, doc/PERFORMANCE.md).
    """
    return moved_bytes * iterations / communication_s


def momentum_drift_ratio(momentum: float) -> float:
    """Return what SGD with momentum moves in a step, over rate times gradient, in the long run.

    Along a gradient that stays the same the velocity becomes 1 / (1 - μ) times that of plain SGD
    (Sutskever et al., On the importance of initialization and momentum, ICML 2013, section 2).
    """
    return 1 / (1 - momentum)


def averaged_drift_ratio(learners: int, momentum: float) -> float:
    """Return what the central model of k learners moves in a step, over rate times gradient.

    Along a gradient g that stays the same, learners and central model z end up moving alike, by
    v a step, with the learners d ahead of z. Algorithm 1 of Koliousis et al. (VLDB 2019) then says
    v = -γ g - α d for a learner and v = k α d + μ v for z, so that v = -γ g / (1 + (1 - μ) / k),
    whatever α is: the momentum of z only makes up for what the corrections hold back.
    """
    return 1 / (1 + (1 - momentum) / learners)


def critical_batch_steps(s_min: Number, b_crit: Number, batch: Number) -> Number:
    """Return S_min(1 + B_crit/B): steps to a goal with the batch B.

    McCandlish et al., An Empirical Model of Large-Batch Training (2018, arXiv:1812.06162),
    equation 2.11 with E = S*B: S_min steps at infinite B, S_min*B_crit samples at small B.
    """
    return s_min * (1 + b_crit / batch)


def goal_seconds(steps: Number, step_s: Number) -> Number:
    """Return S(B) * t(N, b): seconds to a goal that takes so many steps of so many seconds.

    The product of statistical and system efficiency (Qiao et al., Pollux: Co-adaptive Cluster
    Scheduling for Goodput-Optimized Deep Learning, OSDI 2021, section 3), with the steps measured
    at the batch (Shallue et al., JMLR 20, 2019) in place of a model of them.
    """
    return steps * step_s


def log_slope(b_crit: Number, batch: Number) -> Number:
    """Return d log S / d log B of `critical_batch_steps`: -1 for B much below B_crit, 0 above."""
    return -b_crit / (b_crit + batch)


def gradient_square(small_square: Number, big_square: Number, small: Number, big: Number) -> Number:
    """Return the unbiased estimate of |G|^2 from mean squared norms at two batch sizes.

    McCandlish et al. 2018, appendix A.1, equation A.2; it can come out negative.
    """
    return (big * big_square - small * small_square) / (big - small)


def gradient_variance(
    small_square: Number, big_square: Number, small: Number, big: Number
) -> Number:
    """Return the unbiased estimate of tr(Sigma), the variance of one sample's gradient.

    McCandlish et al. 2018, appendix A.1, equation A.2.
    """
    return (small_square - big_square) / (1 / small - 1 / big)


def simple_noise_scale(variance: Number, square: Number) -> Number:
    """Return B_simple = tr(Sigma)/|G|^2, in samples (McCandlish et al. 2018, equation 2.9)."""
    return variance / square
