"""The derived tables of the study."""

from dpscale.derive.tables import Table
from dpscale.studies.scaling.derive import arms, link, looks, losses, prediction, speedup

MODEL = ["communication", "phases", "buckets", "runs"]  # of a step
TABLES = {
    "scaling": Table(speedup.scaling, ["epoch_times", "runs"], speedup.COLUMNS, speedup.judge),
    "scaling_least": Table(
        speedup.least_batches, ["epoch_times", "runs"], speedup.COLUMNS, speedup.judge
    ),
    "looks": Table(
        looks.looks, ["epoch_times", "spans", "runs", "scaling", "communication"], looks.COLUMNS
    ),
    "speedup_lesson": Table(speedup.speedup_lesson, ["scaling", "runs"], speedup.LESSON_COLUMNS),
    "strong_lesson": Table(speedup.strong_lesson, ["scaling"], speedup.STRONG_COLUMNS),
    "communication": Table(
        arms.communication, ["epoch_times", "spans", "runs"], arms.SPLIT_COLUMNS, arms.judge
    ),
    "speedup_losses": Table(
        losses.speedup_losses, ["epoch_times", "runs"], losses.COLUMNS, losses.judge
    ),
    "split_causes": Table(arms.split_causes, ["communication"], arms.CAUSE_COLUMNS),
    "one_worker": Table(
        arms.one_worker, ["communication", "sweep", "runs"], arms.ONE_WORKER_COLUMNS
    ),
    "ddp_at_one": Table(arms.ddp_at_one, ["epoch_times", "runs"], arms.DDP_AT_ONE_COLUMNS),
    "link": Table(link.link, ["messages", "runs"], link.LINK_COLUMNS),
    "message_times": Table(link.message_times, ["messages", "link", "runs"], link.TIMES_COLUMNS),
    "bandwidth": Table(
        link.bandwidth,
        ["communication", "link", "links", "runs"],
        link.BANDWIDTH_COLUMNS,
        link.judge,
    ),
    "ring_times": Table(link.ring_times, ["link", "bandwidth"], link.RING_COLUMNS),
    "compression": Table(
        arms.compression, ["epoch_times", "collectives", "wire", "runs"], arms.COMPRESSION_COLUMNS
    ),
    "prediction": Table(
        prediction.prediction, [*MODEL, "link"], prediction.PREDICTION_COLUMNS, prediction.judge
    ),
    "what_if": Table(
        prediction.what_if,
        [*MODEL, "link", "prediction", "compression", "links"],
        prediction.WHAT_IF_COLUMNS,
    ),
    "phases": Table(arms.phases, ["steps", "runs"], arms.PHASE_COLUMNS),
    "waiting_phases": Table(arms.waiting_phases, ["phases", "runs"], arms.WAITING_COLUMNS),
}
