"""Renders user data the way cloud-init does.

Reads {"text": ..., "data": ...} from standard input. A variable that does not
exist prints as cloud-init prints it, so that a test can find it.
"""
import json
import sys

import jinja2


class Missing(jinja2.Undefined):
    def __str__(self):
        return "CI_MISSING_JINJA_VAR/" + str(self._undefined_name)


request = json.load(sys.stdin)
text = request["text"]
template = jinja2.Template(text, undefined=Missing, trim_blocks=True, extensions=["jinja2.ext.do"])
# The engine drops the last newline.
sys.stdout.write(template.render(**request["data"]) + ("\n" if text.endswith("\n") else ""))
