#!/bin/bash
# real.sh [--programs FOLDER] [--only TEXT] [--markdown FILE] [SPOOR] - compares spoor on a real
# NVIDIA GPU with CUDA loads of known usage, and with nvidia-smi. FOLDER contains the loads compiled
# by build-cuda, here or on another machine; without FOLDER, nvcc compiles them now. See real.py.
exec python3 "$(dirname "$0")/real.py" "$@"
