"""Reads a folder that rl.train wrote with the real TensorBoard: each column of metrics.csv is a curve, value for value.

  pip install tensorboard
  lua5.4 SCRIPT (with out = DIR); python bench/peers/tensorboard_events.py DIR
"""
import csv
import math
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

folder = sys.argv[1]
events = EventAccumulator(folder, size_guidance={"scalars": 0})
events.Reload()
with open(folder + "/metrics.csv") as file:
    rows = list(csv.DictReader(file))
tags = events.Tags()["scalars"]
assert sorted(tags) == sorted(set(rows[0]) - {"iteration"}), tags
for tag in tags:
    curve = events.Scalars(tag)
    assert len(curve) == len(rows), (tag, len(curve), len(rows))
    for event, row in zip(curve, rows):
        want = float(row[tag])
        assert event.step == int(row["iteration"]), (tag, event)
        same = math.isnan(event.value) if math.isnan(want) else abs(event.value - want) <= 1e-6 * abs(want)
        assert same, (tag, event, want)
print(f"TensorBoard reads {len(tags)} curves of {len(rows)} points")
