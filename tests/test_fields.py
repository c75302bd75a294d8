import pytest

from signalprop.fields import Field, as_field


def test_each_field_is_its_own_name():
    assert [as_field(name) for name in ("real", "complex", "quaternion")] == [
        Field.REAL,
        Field.COMPLEX,
        Field.QUATERNION,
    ]
    assert [field.beta for field in Field] == [1, 2, 4]


@pytest.mark.parametrize("bad", ["quaternions", "", None, 2, "Real"])
def test_unknown_field_lists_the_choices(bad):
    with pytest.raises(ValueError, match=r"field must be one of 'real', 'complex' or 'quaternion', got "):
        as_field(bad)
