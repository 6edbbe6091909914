"""Data files as values."""

import pytest

from tests.builders import data_file


def test_the_former_name_of_a_files_partition_spec_id_works_and_warns():
    with pytest.warns(DeprecationWarning, match="partition_spec_id"):
        file = data_file("a", spec_id=3)
    assert file == data_file("a", partition_spec_id=3)
    with pytest.warns(DeprecationWarning, match="partition_spec_id"):
        assert file.spec_id == 3
