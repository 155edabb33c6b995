"""Write each of the client's modules that are made anew."""

from app.write_client import answers, blocking, problems

for each in (problems, answers, blocking):
    each.MODULE.write_text(each.module(), encoding="utf-8")
