"""The range EER of a validation set after every epoch, in a plain PyTorch loop.

    python examples/train_pytorch.py [--quick]

The data are made up: noise, in which spoofed ranges have a little more of one frequency. Nothing here is special to
them: a loader that gives scores (batch, frames), lengths and the ranges of each utterance is all that a metric needs.
"""

import argparse

import torch
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.utils.data import DataLoader, Dataset

from spoofspan.integrations.torch import PointEER, RangeEER

RATE, HOP = 16_000, 320  # samples: frames of 20 ms


class MadeUp(Dataset):
    """Utterances of 1 to 3 s with one spoofed range each."""

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.seed = size, seed

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int):
        rng = torch.Generator().manual_seed(self.seed + index)
        frames = int(torch.randint(50, 150, (), generator=rng))
        first = int(torch.randint(5, frames // 2, (), generator=rng))
        last = first + int(torch.randint(10, frames // 2, (), generator=rng))
        audio = 0.1 * torch.randn(frames * HOP, generator=rng)
        times = torch.arange(first * HOP, last * HOP) / RATE
        audio[first * HOP : last * HOP] += 0.05 * torch.sin(2 * torch.pi * 3000 * times)
        second = HOP / RATE
        ranges = [
            (0.0, first * second, "bonafide"),
            (first * second, last * second, "spoof"),
            (last * second, frames * second, "bonafide"),
        ]
        return audio, ranges


def collate(batch):
    """Pad the audio; lengths and ranges stay on the host."""
    audio = torch.nn.utils.rnn.pad_sequence([one for one, _ in batch], batch_first=True)
    lengths = [len(one) // HOP for one, _ in batch]
    return audio, lengths, [ranges for _, ranges in batch]


def labels_of(ranges, frames: int) -> torch.Tensor:
    """1 for bona fide frames, 0 for spoofed ones, for the loss."""
    labels = torch.ones(len(ranges), frames)
    for row, listed in zip(labels, ranges, strict=True):
        for start, end, label in listed:
            if label == "spoof":
                row[round(start * RATE / HOP) : round(end * RATE / HOP)] = 0
    return labels


class Model(torch.nn.Module):
    """Spectrum, two convolutions, one score per frame: higher means bona fide."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv1d(161, 32, 5, padding=2), torch.nn.ReLU(), torch.nn.Conv1d(32, 1, 5, padding=2)
        )

    def forward(self, audio: torch.Tensor) -> torch.Tensor:
        spectrum = torch.fft.rfft(audio.unflatten(1, (-1, HOP)) * torch.hann_window(HOP, device=audio.device)).abs()
        return self.layers(torch.log(spectrum + 1e-3).transpose(1, 2)).squeeze(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="Less data, fewer epochs.")
    quick = parser.parse_args().quick
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train = DataLoader(MadeUp(64 if quick else 512, 0), batch_size=8, shuffle=True, collate_fn=collate)
    valid = DataLoader(MadeUp(24 if quick else 128, 10_000), batch_size=8, collate_fn=collate)
    model = Model().to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    # the state stays on the device; it is fetched once, by compute()
    range_eer = RangeEER(hop=HOP / RATE, higher="bonafide").to(device)
    point_eer = PointEER(0.04, hop=HOP / RATE, higher="bonafide").to(device)
    exact = RangeEER(hop=HOP / RATE, higher="bonafide", exact=True).to(device)
    for epoch in range(2 if quick else 5):
        model.train()
        for audio, lengths, ranges in train:
            scores = model(audio.to(device))
            labels = labels_of(ranges, scores.shape[1]).to(device)
            inside = torch.arange(scores.shape[1], device=device) < torch.tensor(lengths, device=device)[:, None]
            loss = binary_cross_entropy_with_logits(scores[inside], labels[inside])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        model.eval()
        metrics = (range_eer, point_eer, exact)
        for metric in metrics:
            metric.reset()
        with torch.no_grad():
            for audio, lengths, ranges in valid:
                scores = model(audio.to(device))
                for metric in metrics:
                    metric.update(scores, ranges, lengths)
        print(f"epoch {epoch}: range EER {range_eer.bounds()}, point EER at 40 ms {point_eer.bounds()}")
    found = exact.eer_state().equal_error_rate()
    print(f"{found.point.decision}; exact range EER {100 * float(found.value):.3f} %")


if __name__ == "__main__":
    main()
