"""What an answer claims and on what it rests: evidence, gains with their interval, verdicts."""
