"""Networks are called what they are, in the answers and in the figures."""

from typing import get_args

from dpscale.config.sections import ModelName
from dpscale.units.networks import NETWORKS, network


def test_every_network_of_the_configuration_has_words() -> None:
    assert NETWORKS.keys() == set(get_args(ModelName))


def test_a_network_is_named_by_what_it_is_and_another_by_its_name() -> None:
    assert network("softmax") == "linear classifier"
    assert network("my_network") == "my_network"
