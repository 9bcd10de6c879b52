"""Stand-ins for the messages between host and worker: the runtime takes their namespace by injection."""

from typing import Any


class Message:
    """Any message: it has the fields that it was given, and None for the others."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> Any:
        if name[:1].isupper():  # a class or a constant: the runtime asks for those to tell messages apart
            raise AttributeError(name)
        return None

    def WhichOneof(self, _group: str) -> str | None:  # noqa: N802 - protobuf's name
        """The alternative that is set; the messages that have alternatives are given nothing else."""
        return next((name for name in vars(self) if name != "name"), None)


class StatusResult(Message):
    """How a request went."""

    Failure, Success = 0, 1


class BindingInfo(Message):
    """The direction and type of a binding."""

    undefined, out, inout = 0, 1, 2


class Protos:
    """The namespace of message types. Those without constants are all alike."""

    StatusResult = StatusResult
    BindingInfo = BindingInfo

    def __getattr__(self, name: str) -> type[Message]:
        return Message
