"""The focal loss (Lin et al., 2017) for logistic heads: windows that are easy count less.

In the configuration of a training in this folder:

    [network]
    head = "logistic"

    [loss]
    kind = "focal_loss:Focal"
    gamma = 2.0
    spoof_weight = 3.0
"""

import torch


class Focal:
    def __init__(self, gamma: float = 2.0, spoof_weight: float = 1.0) -> None:
        self.gamma, self.spoof_weight = gamma, spoof_weight

    def __call__(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        signed = outputs[..., 0] * (2 * targets - 1)  # log odds of the true class
        weight = torch.where(targets == 1, 1.0, self.spoof_weight)
        return weight * torch.sigmoid(-signed) ** self.gamma * torch.nn.functional.softplus(-signed)
