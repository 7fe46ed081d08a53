#!/bin/bash
# real.sh [--programs FOLDER] [--only TEXT] [--markdown FILE] [SPOOR] - spoor on a real NVIDIA GPU,
# against CUDA loads whose use is known, and against nvidia-smi. FOLDER has the loads that
# build-cuda built, here or on another machine; without it nvcc builds them now. See real.py.
exec python3 "$(dirname "$0")/real.py" "$@"
