"""From a prompt to token ids, with text kept apart from control tokens.

The chat template is rendered around markers; only its own pieces may become special tokens. What
people wrote (titles, bodies) is encoded with special tokens switched off, so ``<|im_start|>`` in a
title stays eleven harmless characters. Encoding piece by piece also puts the boundary of the common
prefix at a token boundary.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from sdft.model.engine import MAX_PROMPT_TOKENS, EngineError, PromptTooLong
from sdft.model.prompts import Prompt
from sdft.world.routes import ROUTES

_REMEMBERED_PROMPTS = 4096


@dataclass(frozen=True)
class Encoded:
    """Token ids of a prompt; the first ``prefix`` of them depend on its first message only."""

    ids: tuple[int, ...]
    prefix: int


class PromptEncoder:
    """Encodes prompts with one tokenizer, remembering recent ones.

    Raises:
        EngineError: a route code is not exactly one token, or there is no chat template.
    """

    def __init__(self, tokenizer) -> None:
        self._tokenizer = tokenizer
        self._remembered: OrderedDict[Prompt, Encoded] = OrderedDict()
        self._system_ids: dict[str, tuple[int, ...]] = {}
        if not getattr(tokenizer, "chat_template", None):
            raise EngineError("this model's tokenizer has no chat template; use an instruct model")
        self.code_tokens = tuple(self._code_token(route.code) for route in ROUTES)

    def _code_token(self, code: str) -> int:
        ids = self._plain(code)
        if len(ids) != 1:
            raise EngineError(
                f"route code {code!r} is {len(ids)} tokens in this tokenizer; it must be exactly 1"
            )
        return ids[0]

    def _plain(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)

    def _control(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=False) if text else []

    def encode(self, prompt: Prompt) -> Encoded:
        """Token ids of a prompt. Raises PromptTooLong beyond 768 tokens."""
        encoded = self._remembered.get(prompt)
        if encoded is None:
            encoded = self._encode(prompt)
            self._remembered[prompt] = encoded
            if len(self._remembered) > _REMEMBERED_PROMPTS:
                self._remembered.popitem(last=False)
        return encoded

    def _encode(self, prompt: Prompt) -> Encoded:
        marks = [f"\ue000{i}\ue001" for i in range(len(prompt.messages))]
        chat = [
            {"role": m.role, "content": mark}
            for m, mark in zip(prompt.messages, marks, strict=True)
        ]
        rest = self._tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        ids: list[int] = []
        prefix = 0
        for position, (message, mark) in enumerate(zip(prompt.messages, marks, strict=True)):
            before, found, rest = rest.partition(mark)
            if not found:
                raise EngineError(f"the chat template drops the {message.role} message")
            ids += self._control(before)
            if position == 1:
                prefix = len(ids)
            ids += self._plain(message.content)
        ids += self._control(rest)
        if len(ids) > MAX_PROMPT_TOKENS:
            raise PromptTooLong(
                f"the prompt has {len(ids)} tokens, more than {MAX_PROMPT_TOKENS}; shorten the "
                "notification's title or body"
            )
        return Encoded(tuple(ids), prefix)
