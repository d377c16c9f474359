"""Renders user data the way cloud-init does.

Reads one {"text": ..., "data": ...} a line from standard input and answers each
with {"text": ...} or {"error": ...}. A variable that does not exist prints as
cloud-init prints it, so that a test can find it.
"""
import json
import sys

import jinja2


class Missing(jinja2.Undefined):
    def __str__(self):
        return "CI_MISSING_JINJA_VAR/" + str(self._undefined_name)


def render(text, data):
    template = jinja2.Template(text, undefined=Missing, trim_blocks=True, extensions=["jinja2.ext.do"])
    # The engine drops the last newline.
    return template.render(**data) + ("\n" if text.endswith("\n") else "")


for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = {"text": render(request["text"], request["data"])}
    except jinja2.TemplateError as e:
        answer = {"error": "%s: %s" % (type(e).__name__, e)}
    print(json.dumps(answer), flush=True)
