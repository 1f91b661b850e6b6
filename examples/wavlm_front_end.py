"""A frozen WavLM of transformers as a front-end: the mean of its last layers.

In the configuration of a training in this folder:

    [front_end]
    kind = "wavlm_front_end:WavLM"
    checkpoint = "microsoft/wavlm-base-plus"  # or a folder that save_pretrained wrote
    last = 4
"""

import torch
from transformers import WavLMModel

from spoofspan.cm.padding import normalised, real_steps


class WavLM(torch.nn.Module):
    def __init__(self, checkpoint: str, last: int = 4) -> None:
        super().__init__()
        self.encoder = WavLMModel.from_pretrained(checkpoint).requires_grad_(False)
        self.width, self.last = self.encoder.config.hidden_size, last

    def forward(self, waves: torch.Tensor, samples: torch.Tensor) -> torch.Tensor:
        self.encoder.eval()  # a frozen encoder has no dropout in training either
        waves = normalised(waves, samples)
        if self.encoder.config.feat_extract_norm == "group":  # it looks along time: one by one, or padding is seen
            alone = [self._mean(one[None, :n], None)[0] for one, n in zip(waves, samples.tolist(), strict=True)]
            return torch.nn.utils.rnn.pad_sequence(alone, batch_first=True)
        return self._mean(waves, real_steps(samples, waves.shape[1]).long())

    def _mean(self, waves: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        found = self.encoder(waves, attention_mask=mask, output_hidden_states=True)
        return torch.stack(found.hidden_states[-self.last :]).mean(0)
