"""Why an iteration takes as long as it does: path, exposure, use, sensitivities, a sentence."""
