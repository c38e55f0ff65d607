"""LLM-List, built anew: functions that a model proposes, validated in the jail."""

from truegrade.builders.llm_list.build import Ask, IdeaJournal, JournalEntry, LlmListOptions, build

__all__ = ["Ask", "IdeaJournal", "JournalEntry", "LlmListOptions", "build"]
