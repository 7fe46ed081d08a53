# SPDX-License-Identifier: Apache-2.0
"""Log the samples of a running tracker to Weights & Biases, MLflow, TensorBoard or Aim.

Each module has one class, which is used together with a tracker:

    from spoor.integrations.mlflow import MlflowLogger

    with mlflow.start_run(), spoor.Tracker() as tracker, MlflowLogger(tracker):
        train()
"""
