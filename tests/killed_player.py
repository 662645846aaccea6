"""A process that plays and is killed by its test: says on stdout what has been acknowledged.

python tests/killed_player.py MODEL_FOLDER DATA_FOLDER SESSION_ID EVENTS
"""

from __future__ import annotations

import sys

from sdft.autopilot import answer_for
from sdft.host import Host
from sdft.model.owner import ModelOwner
from sdft.starts import for_the_screen, start_named
from sdft.store import Store


def load(model: str):
    def loader(progress):
        import torch

        from sdft.model.torch_engine import load_engine

        torch.set_num_threads(1)
        return load_engine(model, progress)

    return loader


def main() -> None:
    model, folder, session_id, events = sys.argv[1:]
    host = Host(ModelOwner(load(model)), Store(folder))
    host.owner.wait_until_ready()
    if session_id == "new":
        hosted = host.start(for_the_screen(start_named("published", 7, events=int(events))))
    else:
        hosted = host.find(session_id)
    print("session", hosted.id, flush=True)
    hosted.first.result()
    session = hosted.session
    while not session.finished:
        newest = session.phone.current
        outcome = answer_for(session)
        if outcome is None:
            break
        hosted.react(newest.id, outcome).result()
        print("acknowledged", newest.id, outcome.name, flush=True)
    hosted.close()
    print("finished", flush=True)


if __name__ == "__main__":
    main()
