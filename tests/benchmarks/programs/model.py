"""A model that repeats its prompt and stays."""

import json
import sys


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        said = {"text": asked["prompt"], "_capabilities": {"persistent": True}}
        if "_id" in asked:
            said["_id"] = asked["_id"]
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
