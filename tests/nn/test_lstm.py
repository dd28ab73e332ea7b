import pytest
import torch
from torch import nn

from arithmos.nn import LSTM


@pytest.mark.parametrize(("inputs", "width"), [(1, 1), (3, 2)])
def test_is_the_lstm_of_torch(inputs, width):
    torch.manual_seed(4)
    ours = LSTM(inputs + width, width)
    torch.manual_seed(4)
    cell = nn.LSTMCell(inputs, width)
    for mine, theirs in zip(ours.parameters(), cell.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=0)
    x = torch.randn(6, 4, inputs)
    h, c = torch.zeros(6, width), torch.zeros(6, width)
    expected = []
    for t in range(4):
        h, c = cell(x[:, t], (h, c))
        expected.append(h)
    torch.testing.assert_close(ours(x), torch.stack(expected, 1))


def test_bad_shapes_are_named():
    with pytest.raises(ValueError, match="in_features must count inputs and outputs, more than out_features; got 1, 1"):
        LSTM(1, 1)
    with pytest.raises(ValueError, match=r"x must be \(\*, time, 1\), got \(3, 2\)"):
        LSTM(2, 1)(torch.zeros(3, 2))
