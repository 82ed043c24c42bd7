"""What is refused is refused in one line, with the words that help."""

import pytest

from svmkit.errors import InputError


def refused(match, call, *args, **kwargs) -> InputError:
    """The InputError of call(*args, **kwargs): one line that holds `match`, a pattern ("": any) or a list of words."""
    with pytest.raises(InputError, match=match if isinstance(match, str) and match else None) as caught:
        call(*args, **kwargs)
    message = str(caught.value)
    assert "\n" not in message
    missing = [] if isinstance(match, str) else [word for word in match if word not in message]
    assert not missing, f"{missing} not in: {message}"
    return caught.value
