"""The scripted replies are worth asking for: right and wrong, of many kinds."""


def test_the_script_holds_right_and_wrong_replies(replies):
    assert set(replies.reasons.values()) >= {"passed", "runtime_error", "no_code", "wrong_answer"}
    assert 0.3 < replies.accuracy < 0.8
