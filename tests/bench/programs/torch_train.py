# SPDX-License-Identifier: Apache-2.0
"""torch_train.py BATCHES - trains a small model, on the GPU if there is one.

Four worker processes make the batches: each image takes some milliseconds of CPU time, as decoding
and augmenting a real one would. The work is the same in every run.
"""
import sys

import torch
from torch import nn

WORKERS, BATCH, SIDE, CLASSES, BLURS = 4, 32, 96, 10, 4


class Images(torch.utils.data.Dataset):
    def __init__(self, count):
        self.count = count
        self.kernel = torch.full((3, 1, 5, 5), 1 / 25)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        random = torch.Generator().manual_seed(index)
        image = torch.rand(1, 3, SIDE, SIDE, generator=random)
        for _ in range(BLURS):
            image = nn.functional.conv2d(image.flip(3), self.kernel, padding=2, groups=3)
        image = image[0]
        return (image - image.mean()) / image.std(), index % CLASSES


def make_model():
    layers = []
    for inputs, outputs in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(128 * (SIDE // 8) ** 2, CLASSES))


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    model = make_model().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = torch.utils.data.DataLoader(Images(int(sys.argv[1]) * BATCH), BATCH,
                                         num_workers=WORKERS, pin_memory=device == "cuda")
    for images, labels in loader:
        loss = nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()  # waits for the GPU


if __name__ == "__main__":
    main()
