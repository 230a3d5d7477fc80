"""Token counts and what they cost."""

import msgspec


class Usage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Tokens of one request or of many; cached and reasoning tokens are included in the totals."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """All tokens, in and out."""
        return self.input_tokens + self.output_tokens

    @property
    def plausible(self) -> bool:
        """Whether no number is below nothing."""
        return min(self.input_tokens, self.output_tokens, self.cached_tokens) >= 0 and (
            min(self.reasoning_tokens, self.cache_write_tokens) >= 0
        )

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
        )
