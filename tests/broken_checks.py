"""What tests of `signalprop verify` share: a formula is broken, and its check must fail by a number."""

from signalprop import verify


def outcomes(checked, pattern):
    """Outcomes of the short checks of a part whose names hold the pattern."""
    return list(verify.run(check for check in checked.checks(False) if pattern in check.name))


def assert_found(checked, target, attribute, breaker, pattern, monkeypatch):
    """A check with such a name fails once `breaker` has changed the attribute."""
    monkeypatch.setattr(target, attribute, breaker(getattr(target, attribute)))
    found = outcomes(checked, pattern)
    assert found
    assert any(not one.passed for one in found)
    assert not any("[" in one.name for one in found), "it fails by its number, not by an exception"


def assert_all_pass_and_are_broken(checked, patterns):
    """All checks of a part pass, and each has a test that breaks it."""
    found = outcomes(checked, "")
    assert [one.name for one in found if not one.passed] == []
    for one in found:
        assert any(pattern in one.name for pattern in patterns), one.name
