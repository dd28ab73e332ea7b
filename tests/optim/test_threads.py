import pytest
import torch

from arithmos.optim.threads import one_thread


@pytest.mark.parametrize("small", [True, False])
def test_the_number_of_threads_is_restored_after_an_error(small):
    before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError), one_thread(small):
        1 / (torch.get_num_threads() - (1 if small else before))
    assert torch.get_num_threads() == before
