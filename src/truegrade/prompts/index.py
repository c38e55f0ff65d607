"""The prompts that ship: where each comes from, what is filled in, and the hash of its exact bytes.

The text of a prompt is the file ``<id>.txt`` beside this module, byte for byte as its origin has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from truegrade.prompts.entry import PromptEntry
from truegrade.prompts.livecodebench_index import LIVECODEBENCH_PROMPTS
from truegrade.prompts.suites_index import SUITE_PROMPTS

_PAIR = {
    "fn": "function name",
    "args": "argument list of the call as text",
    "program": "source of program A, inserted as stored",
    "program2": "source of program B, inserted as stored",
}
"""Placeholders of every execution choice prompt."""

PROMPTS: Mapping[str, PromptEntry] = MappingProxyType(
    {
        **LIVECODEBENCH_PROMPTS,
        **SUITE_PROMPTS,
        "agentcoder.fix_bug.user": PromptEntry(
            sha256="4bafb8e807976a8c8a9aa280276618ba9fd43d5317ea611535040988d35a64bb",
            source="huangd1999/AgentCoder@dddd1b9 src/programmer_mbpp.py fix_bug; defined there, never called",
            placeholders={
                "lg": "language tag",
                "completion": "previous code",
                "tests": "test text",
                "error": "result text",
            },
        ),
        "agentcoder.mbpp.named_task": PromptEntry(
            sha256="dce0e9784dcd606e3d00951c4347fe567fbf6677c3d66369ab47ecf707ff22e9",
            source="ours",
            placeholders={"prompt": "the description, as stored", "entry_point": "name of the function"},
        ),
        "agentcoder.programmer.humaneval.user": PromptEntry(
            sha256="5b8a5d34bb4ccf54caa5bfdf52dd7a91c89b9fab9e83170a0dc3721c1b02f4d2",
            source="huangd1999/AgentCoder@dddd1b9 programmer_humaneval.py, prompts/humaneval_prompt_update.txt",
            placeholders={"prompt": "field prompt, as stored"},
        ),
        "agentcoder.programmer.mbpp.hidden_tests.user": PromptEntry(
            sha256="251b86c1da6091813d5b86d8205e13162543ed8865277a31074a2dfdfe6e69a0",
            source="ours: agentcoder.programmer.mbpp.user_intended without its section of official tests",
            placeholders={"prompt": "the task"},
        ),
        "agentcoder.programmer.mbpp.system": PromptEntry(
            sha256="1f5bd99cc296139f5f27b045b1b6eccf406d4039d853bacef20bf7995572fb62",
            source="huangd1999/AgentCoder@dddd1b9 src/programmer_mbpp.py",
            placeholders={},
        ),
        "agentcoder.programmer.mbpp.user_intended": PromptEntry(
            sha256="001faaea84929989148ab2f0c1c6b64c60274c14db53deb97402d9488833f75b",
            source="huangd1999/AgentCoder@dddd1b9 programmer_mbpp.py, prompts/mbpp_prompt_update.txt; never sent",
            placeholders={"prompt": "field prompt", "tests": "each test preceded by a newline"},
        ),
        "agentcoder.programmer.system": PromptEntry(
            sha256="8466511cc8aeffbf1d4273ed04cd143db0b67f590a47d1e89f254b4bbc34ed3d",
            source="huangd1999/AgentCoder@dddd1b9 src/programmer_humaneval.py; equal in the blog",
            placeholders={},
        ),
        "agentcoder.tester.humaneval.user": PromptEntry(
            sha256="6ffdb81c76113d4ebe6b6a1326dc7b69e1bbb50002c4805be66b8f3c48f2f0b3",
            source="huangd1999/AgentCoder@dddd1b9 prompts/test_designer_humaneval_prompt_update.txt",
            placeholders={"prompt": "field prompt, as stored"},
        ),
        "agentcoder.tester.mbpp.user": PromptEntry(
            sha256="801fbd843b4e24045e4311584461d8d6564c1d25876b625a800b583d67f00e0b",
            source="huangd1999/AgentCoder@dddd1b9 prompts/test_designer_mbpp_prompt_update.txt",
            placeholders={"prompt": "the task"},
        ),
        "agentcoder.tester.system": PromptEntry(
            sha256="c495872395b866507ef55f43e9c0fb357c6a5debc8cafe776761c5c0c4a7d2de",
            source="huangd1999/AgentCoder@dddd1b9 src/test_designer_humaneval.py, test_designer_mbpp.py",
            placeholders={},
        ),
        "bigcode.humaneval.prompt": PromptEntry(
            sha256="29d7a961d09bcf290bda9f5372e26f1ef7454daaced8a21a7b30f0cff3e770d1",
            source="bigcode-project/bigcode-evaluation-harness@8fc5bae6 bigcode_eval/tasks/humaneval.py",
            placeholders={"prompt_stripped": "field prompt, stripped"},
        ),
        "blog.programmer.user": PromptEntry(
            sha256="3d386e749a9365a3f45fa7207896e1d7274b36a54ec23f1939832f10d797d906",
            source="NotAlvin/NotAlvin.github.io@d884b6b content/posts/Circular Coding.md; equal at f67a688",
            placeholders={
                "shot1_prompt": "HumanEval/0 prompt",
                "shot1_solution": "HumanEval/0 canonical_solution",
                "shot2_prompt": "HumanEval/1 prompt",
                "shot2_solution": "HumanEval/1 canonical_solution",
                "prompt": "field prompt",
            },
        ),
        "changed.statement": PromptEntry(
            sha256="c63ed3eb33083e627abcab9ca28a49d4fa34e83d505ca2a19eabeee7e578a5c5",
            source="ours",
            placeholders={
                "statement": "prose of the original problem, as stored",
                "old_program": "reference of the original",
                "new_program": "reference of the changed problem",
                "call": "a call of the tests that tells them apart",
                "old": "what the original's reference returns for it",
                "new": "what the other returns",
            },
        ),
        "cruxeval.input.cot": PromptEntry(
            sha256="193076692eed26f1827b531a29c0375373c9e0067491761ff1644dfcc1418e24",
            source="facebookresearch/cruxeval@190faf1 prompts.py; equal in bytedance/SandboxFusion@469de08",
            placeholders={"code": "field code", "output": "field output"},
        ),
        "cruxeval.input.direct": PromptEntry(
            sha256="5aafb44f9934f15ebe0a540b9fffc4f8bec104521bd6e799d6acba170a958de6",
            source="facebookresearch/cruxeval@190faf1 prompts.py; equal in bytedance/SandboxFusion@469de08",
            placeholders={"code": "field code", "output": "field output"},
        ),
        "cruxeval.lm_eval.input": PromptEntry(
            sha256="024540d8c54ccb0ac6d71ebabf2f8bce902ec3584e9944e18635688f2d762cca",
            source="EleutherAI/lm-evaluation-harness@4e7e0d47f lm_eval/tasks/cruxeval/cruxeval_input.yaml",
            placeholders={"code": "field code", "output": "field output"},
        ),
        "cruxeval.lm_eval.output": PromptEntry(
            sha256="4eee27f79cc4252cd9735107f4f224227b549fbf60223966f61e1975909bb9de",
            source="EleutherAI/lm-evaluation-harness@4e7e0d47f lm_eval/tasks/cruxeval/cruxeval_output.yaml",
            placeholders={"code": "field code", "input": "field input"},
        ),
        "cruxeval.output.cot": PromptEntry(
            sha256="b1580244fb483849a92ec9bc4aa88da30152aa76dbb1c5aa667d989aa448eafc",
            source="facebookresearch/cruxeval@190faf1 prompts.py; equal in bytedance/SandboxFusion@469de08",
            placeholders={"code": "field code", "input": "field input"},
        ),
        "cruxeval.output.direct": PromptEntry(
            sha256="7eac29f4ed96c46fad0cff7668533a564e08eaafc4746fd6fce6d359b3013487",
            source="facebookresearch/cruxeval@190faf1 prompts.py; equal in bytedance/SandboxFusion@469de08",
            placeholders={"code": "field code", "input": "field input"},
        ),
        "cruxeval.output.phind": PromptEntry(
            sha256="425534847df25d35501ed86b1a4555cf569eb34c8fdad8082b177b3728da77ac",
            source="facebookresearch/cruxeval@190faf1 prompts.py; equal in bytedance/SandboxFusion@469de08",
            placeholders={"code": "field code", "input": "field input"},
        ),
        "cruxeval.system.openai": PromptEntry(
            sha256="fe01db3bfe1094201ee3f29d7089accfa28d12b9567c15ef59a09e976b3cdb77",
            source="facebookresearch/cruxeval@190faf1 openai/openai_prompt.py",
            placeholders={},
        ),
        "evalplus.anthropic.user": PromptEntry(
            sha256="1f9c06513d6123617382e1d2941413ac0600007b6579aa49294da7da7459997e",
            source="evalplus/evalplus@26d6d00 evalplus/provider/anthropic.py, ollama.py",
            placeholders={"prompt_stripped": "field prompt, stripped"},
        ),
        "evalplus.base.prompt": PromptEntry(
            sha256="d105c537e2d75dc198dce0684043a6e8de8bda6b77f4ea7ddc30649436d1d051",
            source="evalplus/evalplus@26d6d00 evalplus/codegen.py",
            placeholders={"prompt_stripped": "field prompt, stripped"},
        ),
        "evalplus.chat.response_prefix": PromptEntry(
            sha256="afa26bbf13764245e6c84a7e0314cb15bc7b0fa82b0a48b75b862e99fcd526d4",
            source="evalplus/evalplus@26d6d00 evalplus/codegen.py, evalplus/provider/utility.py",
            placeholders={},
        ),
        "evalplus.chat.user": PromptEntry(
            sha256="fad88a8f052e0c97584a5589985b0c5526f568e52c8a522a9dcd18a68fd72b91",
            source="evalplus/evalplus@26d6d00 evalplus/codegen.py, evalplus/provider/utility.py",
            placeholders={"prompt_stripped": "field prompt, stripped"},
        ),
        "evalplus.openai.user": PromptEntry(
            sha256="f80b5961d5e90bf678a279000591dad65c1b25da3d51ba3717462e2ee24c4625",
            source="evalplus/evalplus@26d6d00 evalplus/provider/openai.py",
            placeholders={"prompt_stripped": "field prompt, stripped"},
        ),
        "exec.choice.bedrock": PromptEntry(
            sha256="e3d800a17041f67d3dd73846d6e4d7def01c469e0ccdbf561efd4c125b773c48",
            source="akshsgaur/code-reasoning-repro@6c43fa8 src/models/bedrock_claude_llm_list/prompts.py",
            placeholders=_PAIR,
        ),
        "exec.choice.dsl_notebook": PromptEntry(
            sha256="0fc5e821937038b3b23028629251ac8596c153e693f4cb1834b208074f8856bb",
            source="akshsgaur/code-reasoning-repro@6c43fa8 src/models/DSLgpt_oss_evaluation_colab.ipynb cell 9",
            placeholders=_PAIR,
        ),
        "exec.choice.leetcode_notebook": PromptEntry(
            sha256="b50e84e704bbf3c4d8c2494842c0bd5a8774b9111256ff5d2667af75410e75c7",
            source="akshsgaur/code-reasoning-repro@6c43fa8 src/models/gpt_oss_evaluation_colab.ipynb cell 9",
            placeholders=_PAIR,
        ),
        "exec.choice.one_shot": PromptEntry(
            sha256="04f42448fea8d6f19d75e74c19384bba93c74b9176111faaa4c9957177091a80",
            source="akshsgaur/code-reasoning-repro@6c43fa8 src/models/deepseek-coder-7b.ipynb cell 9",
            placeholders=_PAIR,
        ),
        "exec.choice.zero_shot": PromptEntry(
            sha256="b36a707585794dd70d05759b9deae0a797e477646ef9d296c79df9e24759f41c",
            source="akshsgaur/code-reasoning-repro@6c43fa8 src/models/llm_list/gpt_oss_llm_list_final.ipynb",
            placeholders=_PAIR,
        ),
        "exec.prediction.one_shot": PromptEntry(
            sha256="cf0dee2aa71044a3826f3551d371c46108496ce4f6a2ad535a01ae7be503364c",
            source="akshsgaur/code-reasoning-repro@6c43fa8 src/models/deepseek-coder-7b.ipynb cell 9",
            placeholders={
                "fn": "function name",
                "args": "argument list of the call as text",
                "program": "source of the shown program, inserted as stored",
            },
        ),
        "exec.prediction.zero_shot": PromptEntry(
            sha256="42fbec3e79e7fdb3e5224982fbe816b5946b9c5f01f132a9a1f80f8571a681da",
            source="akshsgaur/code-reasoning-repro@6c43fa8 src/models/inference.py",
            placeholders={
                "fn": "function name",
                "args": "argument list of the call as text",
                "program": "source of the shown program, inserted as stored",
            },
        ),
        "exec.system.bedrock": PromptEntry(
            sha256="395d349aec46b07e71a5e9e6a602e7334e5f5921b4d2a3cbdf2bebd0769fdd16",
            source="akshsgaur/code-reasoning-repro@6c43fa8 src/models/bedrock_claude/aws_client.py",
            placeholders={},
        ),
        "exec.system.inference_py": PromptEntry(
            sha256="60905ecca8df876c3a7c5a59ed2935f68c0af7cf8b1628ecb0a031d8e1591b57",
            source="akshsgaur/code-reasoning-repro@6c43fa8 src/models/inference.py",
            placeholders={},
        ),
        "humaneval.inspect.user": PromptEntry(
            sha256="332a95f01be9bbb98b505d84c7ea1bacb40a7ddbf50b6777d6ff899b3267ab25",
            source="UKGovernmentBEIS/inspect_ai@27a087b src/inspect_evals/humaneval/humaneval.py",
            placeholders={"prompt": "field prompt, as stored"},
        ),
        "humaneval.lm_eval_instruct.gen_prefix": PromptEntry(
            sha256="f132deeee5414e30570e1653210627c4dbb57f8c198387b6722d750dd2e6725e",
            source="EleutherAI/lm-evaluation-harness@4e7e0d47f lm_eval/tasks/humaneval/humaneval_instruct.yaml",
            placeholders={"prompt": "field prompt, as stored"},
        ),
        "humaneval.lm_eval_instruct.user": PromptEntry(
            sha256="88a68bb95d8d030700233bd405244e6977559bbdc2f125e0da7199d3df49dd77",
            source="EleutherAI/lm-evaluation-harness@4e7e0d47f lm_eval/tasks/humaneval/humaneval_instruct.yaml",
            placeholders={"prompt": "field prompt, as stored"},
        ),
        "humaneval.simple_evals.user": PromptEntry(
            sha256="f0e0851fb551822b38cafdb6cd2cc499af8da9ed002dae6ea7c246bb608bd569",
            source="openai/simple-evals@093107e humaneval_eval.py; equal in modelscope/evalscope@fde259d2",
            placeholders={"prompt": "field prompt, as stored"},
        ),
        "lcb.execution.cot": PromptEntry(
            sha256="cf24a045da8a5a08d98e8e0a6008ae7a872c7ba5de5fbdb3756c7651fe2f64be",
            source="LiveCodeBench/LiveCodeBench@28fef95 lcb_runner/prompts/code_execution.py",
            placeholders={"code": "field code", "call": "field input: the whole call"},
        ),
        "lcb.execution.direct": PromptEntry(
            sha256="b37aa23d5069bd5c2db023f392cc7634ddedeb4dbf9b49c1e30fc0ffdae2e677",
            source="LiveCodeBench/LiveCodeBench@28fef95 lcb_runner/prompts/code_execution.py",
            placeholders={"code": "field code", "call": "field input: the whole call"},
        ),
        "lcb.execution.system": PromptEntry(
            sha256="fe01db3bfe1094201ee3f29d7089accfa28d12b9567c15ef59a09e976b3cdb77",
            source="LiveCodeBench/LiveCodeBench@28fef95 lcb_runner/prompts/code_execution.py",
            placeholders={},
        ),
        "lcb.test_output.system": PromptEntry(
            sha256="b71806c6643b8c59e5c576ce5537653ba6c979df8cdfa9ed66d08ddb14d78dcf",
            source="LiveCodeBench/LiveCodeBench@28fef95 lcb_runner/prompts/test_output_prediction.py",
            placeholders={},
        ),
        "lcb.test_output.user": PromptEntry(
            sha256="329d1deb12341c1f3b161c1968900f16b5a241cddb7aac66596a88ddd004a047",
            source="LiveCodeBench/LiveCodeBench@28fef95 lcb_runner/prompts/test_output_prediction.py",
            placeholders={
                "question": "field question_content (no newline is added after it)",
                "starter": "field starter_code",
                "fn": "the one function name in the starter code",
                "args": 'lines of the test input joined by ", "',
            },
        ),
        "livecodebench.base_imports": PromptEntry(
            sha256="9b479c36db6e0322c3e2c32549896f6d601eab895d3792685963355f7c6cb912",
            source="LiveCodeBench/LiveCodeBench@28fef95 lcb_runner/evaluation/utils_execute.py BASE_IMPORTS; no"
            " prompt: it stands before the program that is executed",
            placeholders={},
        ),
        "llm_list.ideas": PromptEntry(
            sha256="b29ebed5bdf98c48c99ed7ad52bb5e08202c6c0c237322a4031f5c9c88e89d77",
            source="ours",
            placeholders={
                "count": "how many functions",
                "known": "headers there are already, one a line, or (none)",
            },
        ),
        "llm_list.inputs": PromptEntry(
            sha256="3699df5dc8845d50eeba603de5b254e0a6323793058bca279cc8dbe536b79597",
            source="ours",
            placeholders={
                "program": "source of the function",
                "function": "its name",
                "count": "how many calls",
            },
        ),
        "llm_list.program": PromptEntry(
            sha256="b82d83fb1a02e6a7fd2ecdfd3ebe670253823d95e2a3348bf8033a2fea3b5063",
            source="ours",
            placeholders={
                "header": "function header, as the model proposed it",
                "description": "what the function returns, likewise",
            },
        ),
        "mbpp.bigcode.prompt": PromptEntry(
            sha256="a39b05fbcfd03c2bb2a174d62265d4e8cefb6d54aa49961ae43aead5a9823c7c",
            source="bigcode-project/bigcode-evaluation-harness@8fc5bae6 bigcode_eval/tasks/mbpp.py, mbppplus.py",
            placeholders={"text": "field text", "test0": "test_list[0]"},
        ),
        "mbpp.evalscope.few_shot": PromptEntry(
            sha256="72e0a235d73c5f9bea14d100f01c1414e3e3663e4602acf24953f161056b17f7",
            source="modelscope/evalscope@fde259d2 evalscope/benchmarks/mbpp/mbpp_adapter.py",
            placeholders={"text": "field text (plus set: prompt)", "tests": "test_list joined by newlines"},
        ),
        "mbpp.evalscope.zero_shot": PromptEntry(
            sha256="b1ab23688fb2eee540ba0223bb3fb48ea51dc846b15bcf7614f05808671d4b03",
            source="modelscope/evalscope@fde259d2 evalscope/benchmarks/mbpp/mbpp_adapter.py, also mbppplus",
            placeholders={"text": "field text (plus set: prompt)", "tests": "test_list joined by newlines"},
        ),
        "mbpp.inspect.user": PromptEntry(
            sha256="110ece47dad8d744c876c75436265ebbdce0b13ee089dc1785290a490f01fa38",
            source="UKGovernmentBEIS/inspect_ai@27a087b src/inspect_evals/mbpp/mbpp.py; shots are tasks 2, 3, 4",
            placeholders={"prompt": "sanitized field prompt", "tests": "test_list joined by newlines"},
        ),
        "mbpp.lm_eval": PromptEntry(
            sha256="203bc965adb2633c66ffd7d5bea21dd97690980d036246823a6f96f984eaa008",
            source="EleutherAI/lm-evaluation-harness@4e7e0d47f lm_eval/tasks/mbpp/mbpp.yaml",
            placeholders={
                "text": "field text (sanitized and plus sets: prompt)",
                "test0": "test_list[0]",
                "test1": "test_list[1]",
                "test2": "test_list[2]",
            },
        ),
        "mbpp.lm_eval_instruct": PromptEntry(
            sha256="b7b522ac8e04298da987d6aa9056ef8e3b5cc25117eb4cafac8e24f2692b553a",
            source="EleutherAI/lm-evaluation-harness@4e7e0d47f lm_eval/tasks/mbpp/mbpp_instruct.yaml",
            placeholders={
                "text": "field text (sanitized and plus sets: prompt)",
                "test0": "test_list[0]",
                "test1": "test_list[1]",
                "test2": "test_list[2]",
            },
        ),
        "mbpp.paper": PromptEntry(
            sha256="5754558762588c3115fa424bdb30560d9b67e34218fc6164db792b8497404414",
            source="google-research/google-research@30adf0e mbpp/README.md",
            placeholders={
                "prompt": "field text",
                "tests": "test_list joined by newlines",
                "code": "field code (shots) or nothing",
            },
        ),
        "mbpp_plus.lm_eval_instruct.gen_prefix": PromptEntry(
            sha256="403d273badd6740820c6c0fccf7ca55c7f5e201f24f5024c80d607c9b58bc16c",
            source="EleutherAI/lm-evaluation-harness@4e7e0d47f lm_eval/tasks/mbpp/mbpp_plus_instruct.yaml",
            placeholders={},
        ),
        "mbpp_plus.lm_eval_instruct.user": PromptEntry(
            sha256="9b8711a692038e736f3685fc3eac173c10f910c960b170bf271b510eba5688e4",
            source="EleutherAI/lm-evaluation-harness@4e7e0d47f lm_eval/tasks/mbpp/mbpp_plus_instruct.yaml",
            placeholders={"text": "field prompt", "test0": "test_list[0]"},
        ),
        "quixbugs.repair": PromptEntry(
            sha256="2abf924c47ba0e9e85ad9e296030a7761e8f94c584d4d774d55de7bd6312fec2",
            source="skishore23/coralx@93e9490 docs/archive/QUIXBUGS_USAGE_ANALYSIS.md create_quixbugs_prompt",
            placeholders={"name": "problem name", "buggy": "text of the buggy file"},
        ),
        "strict.class.user": PromptEntry(
            sha256="a1cb51ee78db4664417783edd572f56d86fdfee560c88c86a23fca1dd2519311",
            source="ours",
            placeholders={"prompt": "the skeleton, as stored"},
        ),
        "strict.description.user": PromptEntry(
            sha256="dfaeeccf9bf7d75aaa19b248af20abb99d827f47949fd1e38bc8d513ab8c8ec7",
            source="ours",
            placeholders={"prompt": "the description, as stored", "tests": "the shown tests joined by newlines"},
        ),
        "strict.file.user": PromptEntry(
            sha256="9253ded138e22a1ab5e84cd84199e5c9928ae4b1c82c709737343e4f96ee0d8c",
            source="ours",
            placeholders={
                "prompt": "the exercise, in words",
                "file": "name of the file",
                "starter": "what the file holds at first",
            },
        ),
        "strict.function.user": PromptEntry(
            sha256="d2b82876c1855dffff3f2c56e8ba8fa8c0489824ab32656250f6842acc9d88f6",
            source="ours",
            placeholders={"prompt": "the code to complete, as stored"},
        ),
        "strict.named.user": PromptEntry(
            sha256="66794c2d6110f667060c09fc2f7127f8dfc71949d9bba1a4c033650e5ff5ee03",
            source="ours",
            placeholders={"prompt": "the description, as stored", "entry_point": "the function's name"},
        ),
    }
)
"""By id; those of this file sorted."""
