"""An encoder in ONNX as a frozen front-end, such as Moonshine's: sound at 16 kHz in, features out.

In the configuration of a training in this folder:

    [front_end]
    kind = "onnx_front_end:OnnxEncoder"
    path = "/models/moonshine-tiny/encoder_model.onnx"

Moonshine gives features every 24 ms; each frame of 20 ms takes those at its place, interpolated.
"""

import onnxruntime
import torch

from spoofspan.cm.padding import frames_in


class OnnxEncoder:
    def __init__(self, path: str, shortest: int = 1024, threads: int = 1) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.shortest = shortest  # samples; below 895, Moonshine's convolutions have nothing to give
        self.input = self.session.get_inputs()[0].name
        self.width = self.session.get_outputs()[0].shape[-1]

    def __call__(self, waves: torch.Tensor, samples: torch.Tensor) -> torch.Tensor:
        found = []
        for wave, length, frames in zip(waves.cpu(), samples.tolist(), frames_in(samples).tolist(), strict=True):
            alone = torch.nn.functional.pad(wave[:length], (0, max(self.shortest - length, 0)))  # it has no mask
            steps = torch.from_numpy(self.session.run(None, {self.input: alone[None].numpy()})[0])
            found.append(torch.nn.functional.interpolate(steps.mT, size=frames, mode="linear")[0].T)
        return torch.nn.utils.rnn.pad_sequence(found, batch_first=True).to(waves.device)
