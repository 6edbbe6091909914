"""Java is asked once what a name is: PySpark asks before each use.

The answer of Java's side, py4j, never changes, and it costs: a name such as `PythonUtils` is looked
for in ten packages, each time in all of Spark's 300 jars. That was 5% to 10% of a JVM's time.
"""

from collections.abc import Callable
from typing import Any

from py4j import protocol
from pyspark.sql import SparkSession

WHAT_A_NAME_IS = protocol.REFLECTION_COMMAND_NAME + protocol.REFL_GET_UNKNOWN_SUB_COMMAND_NAME
WHAT_A_MEMBER_IS = protocol.REFLECTION_COMMAND_NAME + protocol.REFL_GET_MEMBER_SUB_COMMAND_NAME
A_METHOD = protocol.SUCCESS + protocol.METHOD_TYPE


def remember_java_names(session: SparkSession) -> None:
    """From now on this process asks once for each package, class and static method."""
    kind: Any = type(session._jvm._gateway_client)  # type: ignore[union-attr]
    kind.send_command = remembering(kind.send_command)


def remembering(send: Callable[..., str]) -> Callable[..., str]:
    """The same answers; what is no constant, as a static field's value, is asked for each time."""
    known: dict[str, str] = {}

    def answer(client: Any, command: str, *args: Any, **options: Any) -> str:
        if not command.startswith((WHAT_A_NAME_IS, WHAT_A_MEMBER_IS)):
            return send(client, command, *args, **options)
        found = known.get(command) or send(client, command, *args, **options)
        if is_constant(command, found):
            known[command] = found
        return found

    return answer


def is_constant(command: str, answer: str) -> bool:
    if command.startswith(WHAT_A_MEMBER_IS):
        return answer.startswith(A_METHOD)
    return answer == protocol.SUCCESS_PACKAGE or answer.startswith(protocol.SUCCESS_CLASS)
