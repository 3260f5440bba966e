#!/usr/bin/env bash
# Scene 15 by EfficientNet-Lite0: 1,280 features an image, kept as float32, one-vs-rest.
# Command:  recipes/scene15-efficientnet.sh SCENE15 OUT
#           SCENE15 is the folder with train/ and test/, each with a folder a class.
# Time:     TIME_HERE
# Expected: EXPECTED_HERE
# Settings: crop and power of the network by three-fold cross-validation inside train; step, negatives
#           and passes by validation inside train. The test images are looked at once, by evaluate.
# Needs:    pip install "myriad-learn[cnn]"
set -euo pipefail
data="${1:?the folder of Scene 15}"
out="${2:?the model folder to write}"

myriad train "$data" --out "$out" --signature efficientnet-lite0 --codes none --seed 0
myriad evaluate "$out" "$data" --split test
