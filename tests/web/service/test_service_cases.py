"""Test cases that come one by one, as verl's client sends them: each gets its own answer."""

from concurrent.futures import ThreadPoolExecutor

CLIENTS, CASES = 16, 96
ECHO = "import sys\n\n\ndef said(text):\n    return text[::-1]\n\n\nprint(said(sys.stdin.read()))\n"
HOSTILE = {"exit": "os._exit(3)", "kill": "os.kill(os.getpid(), 9)", "memory": "x = [0] * 10**9"}


def test_clients_of_one_program_are_answered_for_their_own_input(http):

    def ask(number):
        word = f"nonce {number}"
        body = {"code": ECHO, "stdin": word, "language": "python", "memory_limit_MB": 256, "run_timeout": 5}
        return word, http.post("/run_code", json=body).json()

    with ThreadPoolExecutor(CLIENTS) as clients:
        answers = list(clients.map(ask, range(CASES)))
    assert [answer["run_result"]["stdout"] for _, answer in answers] == [f"{word[::-1]}\n" for word, _ in answers]
    metrics = http.get("/metrics").text
    counted = dict(line.split() for line in metrics.splitlines() if line.startswith("truegrade_code_cache"))
    assert float(counted["truegrade_code_cache_hits"]) >= CASES - 4
    assert float(counted["truegrade_code_cache_bytes"]) > 0


def test_a_case_that_ends_badly_leaves_the_others_of_its_program(http):
    branches = "".join(f"if word == '{name}': {text}\n" for name, text in HOSTILE.items())
    program = f"import os\nword = input()\n{branches}print(word)\n"
    words = [*HOSTILE, *(f"nonce {number}" for number in range(20))]
    words = words[3:12] + words[:3] + words[12:]

    def ask(word):
        body = {"code": program, "stdin": word, "language": "python", "memory_limit_MB": 256, "run_timeout": 5}
        return http.post("/run_code", json=body).json()

    with ThreadPoolExecutor(CLIENTS) as clients:
        answers = dict(zip(words, clients.map(ask, words), strict=True))
    for word, answer in answers.items():
        assert answer["status"] == ("Failed" if word in HOSTILE else "Success"), (word, answer)
        if word not in HOSTILE:
            assert answer["run_result"]["stdout"] == f"{word}\n"
