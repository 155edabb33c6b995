"""What a call waits for: worked out by a child, while its client is there."""

from dataclasses import dataclass
from typing import Annotated, Any

from anyio import create_task_group
from fastapi import Depends, Request, Response

from app.calls.children import Children
from app.calls.messages import Answered, Call, Refused
from app.errors import ClientLeft, Refusal
from app.http.bodies import HeldBody
from app.http.problems import answer


@dataclass(frozen=True, slots=True)
class CallWork:
    """The children that a call may use, and the call."""

    request: Request
    children: Children

    async def done(self, work: str, *given: Any, body: HeldBody | None = None) -> Any:
        """Return what a child made of it, or why it did not: a problem as an answer.

        ``work`` is named by reference (:mod:`app.references`).

        The child ends when the client leaves.

        Raises
        ------
        ClientLeft, NoTurn, TimeLimit, WorkerDied
            As :meth:`app.calls.children.Children.work` does; of the first only the log hears.
        """
        name = getattr(self.request.state, "request_id", "")
        content = file = None
        if body is not None:
            content, file = (bytes(body), None) if body.file is None else (None, body.file)
        caller = self.request.state.caller
        call = Call(work, given, name, caller, content, has_file=file is not None)
        found: Any = None
        failure: Refusal | None = ClientLeft("The client left before its answer was there.")
        async with create_task_group() as tasks:

            async def watch() -> None:
                while (await self.request.receive())["type"] != "http.disconnect":
                    pass
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            try:
                found, failure = await self.children.work(call, file), None
            except Refusal as error:  # raised below: a group would hide it
                failure = error
            tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure
        if isinstance(found, Refused):
            headers = {}
            if found.retry_after_s is not None:
                headers["Retry-After"] = str(found.retry_after_s)
            return answer(found.problem, self.request.url.path, headers)
        return found

    async def answer(self, work: str, *given: Any, body: HeldBody | None = None) -> Response:
        """Answer with what a child made of it, as :meth:`done` does."""
        found: Answered | Response = await self.done(work, *given, body=body)
        if isinstance(found, Response):
            return found
        return Response(found.content, found.status, dict(found.headers), found.media_type)


async def answers_of(request: Request) -> CallWork:
    """Return who works out answers that may take long."""
    return CallWork(request, request.app.state.answers)


async def intake_of(request: Request) -> CallWork:
    """Return who reads bodies that are too large for the server: predictions do not delay them."""
    return CallWork(request, request.app.state.writers)


async def readers_of(request: Request) -> CallWork:
    """Return who reads what is small, and looks up what is told of at once."""
    return CallWork(request, request.app.state.readers)


AnswersDep = Annotated[CallWork, Depends(answers_of)]


WritersDep = Annotated[CallWork, Depends(intake_of)]


ReadersDep = Annotated[CallWork, Depends(readers_of)]
